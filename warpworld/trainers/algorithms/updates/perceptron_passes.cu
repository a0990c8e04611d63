// Passes over a rollout's rows for a policy of two small perceptrons, an actor of choices and a critic, in one launch: of each
// minibatch the forward, the losses of choice_loss.cuh with their diagnostics, and the backward; then the sum over all rows,
// the limit of the gradient's length, and a step of Adam. Moments of the advantages are found for all minibatches before.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for what there is not. The vector of
// parameters has the actor's layers, then the critic's, weights (outputs, inputs) before biases, each from a multiple of four on.
//
// The first `num_envs` envs are blocks that work, in turns (in_turn.cuh). A minibatch is three phases: gradients of parts of its
// rows, for the actor and for the critic; sums over parts, for some parameters each; steps, for some parameters each. Every part
// and every sum has a place of its own and is added up in a fixed order, so that results do not depend on which block did what.
// FEATURES and CRITIC_FEATURES are read, HIDDEN_1 and HIDDEN_2 are units of hidden layers, or 0. TILE rows are taken at once.
#include "choice_loss.cuh"
#include "in_turn.cuh"
#include "perceptron_layers.cuh"

using Actor = Network<FEATURES, HIDDEN_1, HIDDEN_2, LOGITS>::Type;
using Critic = Network<CRITIC_FEATURES, HIDDEN_1, HIDDEN_2, 1>::Type;

constexpr int SIZE = Actor::size + Critic::size;  // of the vector of parameters

constexpr int larger(int a, int b) { return a > b ? a : b; }

// Numbers of a network in shared memory: its weights, and a tile.
template <class Net>
struct Memory {
  static constexpr int tile = whole_fours(Net::weights), size = tile + Net::tile * PITCH;  // where the tile begins
};

constexpr int SHARED = larger(Memory<Actor>::size, Memory<Critic>::size);

// What a network reads of rows: (rows, numbers), and a normaliser's mean and scale of each number.
struct Seen {
  int64_t numbers, mean, scale;

  __device__ float at(size_t place, int number) const {
    const float x = ((const float*)numbers)[place];
    if (!mean) return x;
    const float scaled = (x - ((const float*)mean)[number]) * ((const float*)scale)[number];
    return scaled < -10.0f ? -10.0f : scaled > 10.0f ? 10.0f : scaled;
  }
};

// A minibatch: `count` rows of a pass from `first` on.
struct Minibatch {
  int64_t order;
  int first, count;

  __device__ int row(int i) const { return order ? (int)((const int64_t*)order)[first + i] : first + i; }
};

// The passes that follow each other, each over all rows in `minibatches` parts, of which the first ones have a row more where
// they cannot be equal. `order` numbers the rows, pass by pass; without it a pass is one minibatch of rows as they lie.
struct Passes {
  int64_t order;
  int total, minibatches;

  __device__ Minibatch at(int number) const {
    const int part = number % minibatches, length = total / minibatches, more = total % minibatches;
    const int first = order ? number / minibatches * total : 0;
    return Minibatch{order, first + part * length + min(part, more), length + (part < more)};
  }
};

// What parts of a minibatch find: (parts, Actor::size), (parts, Critic::size), and (2, parts, FIGURES) of both networks; and in
// squares (sums,) what each sum has of the gradient's.
struct Found {
  int64_t of_actor, of_critic, figures, squares;
};

// What comes of minibatches: the gradient (SIZE,), of the last one scaled down where no step is taken, and diagnostics
// (minibatches, NUM_FIGURES + 1), of which the last is the gradient's length before. The longest one, or 0 without limit.
struct Given {
  int64_t gradient, diagnostics;
  float longest;
};

// Adam (Kingma and Ba 2015, algorithm 1, with eps outside of the bias correction, as torch has it): its moments (SIZE,), number
// of steps () float32 and rate (); 0 for no steps. The rate may follow the divergence of minibatches, as of KLRate: rates
// (minibatches,) then, and `has_moved` says whether steps were taken from the rollout's rows before.
struct Adam {
  int64_t mean, square, steps, rate, rates;
  float beta_1, beta_2, epsilon, desired_kl, lowest, highest;
  bool has_moved;
};

// The loss, and where blocks count their turns.
struct Terms {
  Coefficients coefficients;
  Loss loss;
  int64_t counters;
};

// How work is divided: minibatches from `first` on, parts of a minibatch for each network, sums and steps of it.
struct Division {
  int first, count, parts, sums, steps;

  __device__ int turns() const { return 2 * parts + sums + steps; }  // of a minibatch
};

// ---- moments of the advantages ---------------------------------------------------------------------------------------
// Of each minibatch: found (minibatches, parts, MOMENTS).
extern "C" __global__ void moments(Rows data, Passes passes, int64_t found, int minibatches, int parts, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  for (int job = env_id(); job < minibatches * parts; job += num_envs) {
    const Minibatch own = passes.at(job / parts);
    double of_lane[MOMENTS] = {};
    for (int i = job % parts * LANES + lane(); i < own.count; i += parts * LANES) add_moments(data, own.row(i), of_lane);
    put_moments(sums[0], of_lane, (double*)found + (size_t)job * MOMENTS);
  }
}

// ---- gradients -------------------------------------------------------------------------------------------------------
// What the lanes of an env share.
struct Shared {
  Sums sums;
  double figures[TILE][NUM_FIGURES];  // of each row of a tile, over all tiles: registers are for gradients
  int rows[TILE];                     // of a tile; below 0 those that there are not, or that do not count
  int turn;
};

// The rows of a tile, as (numbers, PITCH); 0 for what is not there.
template <int Numbers>
__device__ void read_tile(const Rows& data, const Seen& seen, const Minibatch& own, int first, Shared& shared,
                          float* units) {
  sync_env();  // orders the reading of the tile before
  if (lane() < TILE) {
    const int row = first + lane() < own.count ? own.row(first + lane()) : -1;
    shared.rows[lane()] = row >= 0 && data.counts(row) ? row : -1;
  }
  sync_env();  // orders the numbers of rows before they are read
  for (int i = lane(); i < TILE * Numbers; i += LANES) {
    const int of_tile = i / Numbers, number = i % Numbers, row = shared.rows[of_tile];
    units[number * PITCH + of_tile] = row < 0 ? 0.0f : seen.at((size_t)row * Numbers + number, number);
  }
  sync_env();  // orders the rows before layers read them
}

// The gradient of one network, of the part of a minibatch that is the block's turn: written to `gradients` and `figures`, at the
// part's places. `differentiate` writes the gradient of a row over what the network gives for it.
template <class Net, int Numbers, class Differentiate>
__device__ void learn(const Rows& data, const Seen& seen, const Minibatch& own, const float* vector,
                      const Division& division, Shared& shared, float* loaded, float weight, int64_t gradients,
                      int64_t figures, const Differentiate& differentiate) {
  float* units = loaded + Memory<Net>::tile;
  const int parts = division.parts;
  Net::load(vector, loaded);
  Net net;
  for (int i = 0; lane() < TILE && i < NUM_FIGURES; ++i) shared.figures[lane()][i] = 0.0;  // by the lane that has the row
  for (int first = shared.turn % division.turns() % parts * TILE; first < own.count; first += parts * TILE) {
    read_tile<Numbers>(data, seen, own, first, shared, units);
    Net::forward(loaded, units);
    if (lane() < TILE) {
      const Spaced<PITCH> given{units + Net::outputs * PITCH + lane()};
      const int row = shared.rows[lane()];
      if (row >= 0)
        differentiate(given, row, shared.figures[lane()]);
      else
        for (int k = 0; k < Net::given; ++k) given[k] = 0.0f;
    }
    sync_env();  // orders the gradients before layers read them
    net.backward(loaded, units);
  }
  const int item = shared.turn % division.turns();  // read again: registers are for gradients
  net.give((float*)gradients + (size_t)(item % parts) * Net::size);
  for (int i = 0; i < NUM_FIGURES; ++i) {
    const double sum = sum_of_lanes(shared.sums, lane() < TILE ? shared.figures[lane()][i] : 0.0);
    if (lane() == 0) ((double*)figures)[(size_t)item * FIGURES + i] = sum * (double)weight;
  }
}

// A part of a minibatch for one network. actor and critic: what they read; moments: of the minibatch, (moment_parts, MOMENTS).
__device__ void learn_part(const Rows& data, const Seen& actor, const Seen& critic, const Minibatch& own, int64_t moments,
                           int moment_parts, int64_t vector, const int* head_sizes, const Found& found,
                           const Coefficients& coefficients, const Loss& loss, bool is_actor, const Division& division,
                           Shared& shared, float* numbers) {
  const Common common = common_of(shared.sums, moments, loss, own.count, moment_parts);
  const Factors now = coefficients.now();
  const float* weights = (const float*)vector;
  if (is_actor) {
    learn<Actor, FEATURES>(data, actor, own, weights, division, shared, numbers, common.weight, found.of_actor,
                           found.figures, [&](const Spaced<PITCH>& logits, int row, double* sums) {
                             differentiate_choices(data, loss, common, head_sizes, now, logits, row, sums);
                           });
  } else {
    learn<Critic, CRITIC_FEATURES>(data, critic, own, weights + Actor::size, division, shared, numbers, common.weight,
                                   found.of_critic, found.figures, [&](const Spaced<PITCH>& value, int row, double* sums) {
                                     value[0] = differentiate_value(data, loss, common, now, value[0], row, sums);
                                   });
  }
}

// ---- sums ------------------------------------------------------------------------------------------------------------
constexpr int WAYS = 4, AT_ONCE = LANES / WAYS;  // lanes that share a parameter, and parameters of a sum at a time

// Adds up what parts found: the gradient of some parameters, and in the first sum the diagnostics of the minibatch.
__device__ void add_up(const Found& found, float* gradient, float* diagnostics, const Division& division, int item,
                       Sums& sums) {
  double squared = 0.0;
  for (int first = item * AT_ONCE; first < SIZE; first += division.sums * AT_ONCE) {
    const int place = min(first + lane() % AT_ONCE, SIZE - 1);
    const bool is_actor = place < Actor::size;
    const float* parts = is_actor ? (const float*)found.of_actor + place : (const float*)found.of_critic + (place - Actor::size);
    const size_t pitch = is_actor ? Actor::size : Critic::size;
    double sum = 0.0;
#pragma unroll 4
    for (int part = lane() / AT_ONCE; part < division.parts; part += WAYS) sum += (double)parts[part * pitch];
    sync_env();  // orders the reading of sums before
    sums.of_lanes[lane()] = sum;
    sync_env();  // orders the sums before they are added
    if (lane() < AT_ONCE && first + lane() < SIZE) {
      for (int way = 1; way < WAYS; ++way) sum += sums.of_lanes[lane() + way * AT_ONCE];
      const float whole = (float)sum;
      gradient[place] = whole;
      squared += (double)whole * (double)whole;
    }
  }
  const double of_item = sum_of_lanes(sums, squared);
  if (lane() == 0) ((double*)found.squares)[item] = of_item;
  if (item > 0) return;
  for (int i = 0; i < NUM_FIGURES; ++i) {
    double some = 0.0;
    for (int part = lane(); part < 2 * division.parts; part += LANES) some += ((const double*)found.figures)[part * FIGURES + i];
    const double sum = sum_of_lanes(sums, some);
    if (lane() == 0) diagnostics[i] = (float)sum;
  }
}

// ---- steps -----------------------------------------------------------------------------------------------------------
// The rate of minibatch `number`, whose divergence is known.
__device__ inline float rate_of(const Adam& adam, float divergence, int number, bool is_first) {
  const float before = is_first || !adam.rates ? *(const float*)adam.rate : ((const float*)adam.rates)[number - 1];
  if (!adam.rates || (is_first && !adam.has_moved)) return before;
  if (divergence > 2.0f * adam.desired_kl) return fmaxf(before / 1.5f, adam.lowest);
  const bool is_small = divergence < adam.desired_kl / 2.0f && divergence != 0.0f;
  return is_small ? fminf(before * 1.5f, adam.highest) : before;
}

// Scales the gradient down, and takes a step of some parameters along it.
__device__ void step(const Adam& adam, const Found& found, const Given& given, float* vector, const Division& division,
                     int number, int item, Sums& sums) {
  double some = 0.0;
  for (int sum = lane(); sum < division.sums; sum += LANES) some += ((const double*)found.squares)[sum];
  float* diagnostics = (float*)given.diagnostics + (size_t)(division.first + number) * (NUM_FIGURES + 1);
  const float length = (float)sqrt(sum_of_lanes(sums, some));
  if (item == 0 && lane() == 0) diagnostics[NUM_FIGURES] = length;
  const float wanted = given.longest / (length + 1e-6f), factor = wanted > 1.0f ? 1.0f : wanted;  // NaN stays NaN, as in torch
  const float scale = given.longest > 0.0f ? factor : 1.0f;
  float *gradient = (float*)given.gradient, *means = (float*)adam.mean, *squares = (float*)adam.square;
  if (!adam.mean) {
    for (int i = item * LANES + lane(); i < SIZE; i += division.steps * LANES) gradient[i] *= scale;
    return;
  }
  const float rate = rate_of(adam, diagnostics[APPROX_KL], number, number == 0);
  if (adam.rates && item == 0 && lane() == 0) ((float*)adam.rates)[number] = rate;
  const double steps = (double)*(const float*)adam.steps + (double)(number + 1);
  const double mean_share = 1.0 - pow((double)adam.beta_1, steps), square_share = 1.0 - pow((double)adam.beta_2, steps);
  const float move = (float)((double)rate / mean_share), root = (float)sqrt(square_share);
  for (int i = item * LANES + lane(); i < SIZE; i += division.steps * LANES) {
    const float along = gradient[i] * scale;
    const float mean = adam.beta_1 * means[i] + (1.0f - adam.beta_1) * along;
    const float square = adam.beta_2 * squares[i] + (1.0f - adam.beta_2) * along * along;
    gradient[i] = along, means[i] = mean, squares[i] = square;
    vector[i] -= move * mean / (sqrtf(square) / root + adam.epsilon);
  }
}

// ---- passes ----------------------------------------------------------------------------------------------------------
// The minibatches of `division`, one after the other. moments: of all minibatches, (minibatches, moment_parts, MOMENTS).
extern "C" __global__ void learn_passes(Rows data, Seen actor, Seen critic, Passes passes, int64_t vector, int64_t moments,
                                        int moment_parts, int64_t head_sizes, Found found, Given given, Adam adam,
                                        Division division, Terms terms, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Shared, shared, 1);
  ENV_SHARED(float4, numbers, SHARED / 4);
  const Turns turns{terms.counters};
  const int of_minibatch = division.turns(), learning = 2 * division.parts;
  for (;;) {
    const int turn = turns.take(shared[0].turn), number = turn / of_minibatch, item = turn % of_minibatch;
    if (number >= division.count) break;
    const int place = division.first + number;
    float* diagnostics = (float*)given.diagnostics + (size_t)place * (NUM_FIGURES + 1);
    if (item < learning) {
      turns.wait_for(turn - item);
      const int64_t own = moments ? moments + 8 * (int64_t)place * moment_parts * MOMENTS : 0;
      learn_part(data, actor, critic, passes.at(place), own, moment_parts, vector, (const int*)head_sizes, found,
                 terms.coefficients, terms.loss, item < division.parts, division, shared[0], (float*)numbers);
    } else if (item < learning + division.sums) {
      turns.wait_for(turn - item + learning);
      add_up(found, (float*)given.gradient, diagnostics, division, item - learning, shared[0].sums);
    } else {
      turns.wait_for(turn - item + learning + division.sums);
      step(adam, found, given, (float*)vector, division, number, item - learning - division.sums, shared[0].sums);
    }
    turns.done();
  }
  if (!turns.leave(num_envs) || !adam.mean) return;
  *(float*)adam.steps += (float)division.count;
  if (adam.rates) *(float*)adam.rate = ((const float*)adam.rates)[division.count - 1];
}
