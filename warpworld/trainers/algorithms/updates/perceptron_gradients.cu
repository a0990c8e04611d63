// The gradient of a minibatch for a policy of two small perceptrons, an actor of choices and a critic: forward, the losses of
// choice_loss.cuh with their diagnostics, and backward in one launch; a second one adds up what envs found, in a fixed order; a
// third one limits the gradient's length. Moments of the advantages are found for all minibatches of a pass at once.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for what there is not. `order` numbers
// the rows of a pass, whose minibatches follow each other; without it rows are taken as they lie. The vector of parameters has the
// actor's layers, then the critic's, weights (outputs, inputs) before biases, each from a multiple of four on.
//
// The first `num_envs` envs work: one half for the actor and the other one for the critic, a single one for both. They share
// tiles of TILE rows. FEATURES and CRITIC_FEATURES are read, HIDDEN_1 and HIDDEN_2 are units of hidden layers, or 0.
#include "choice_loss.cuh"
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

// What envs found: (envs, Actor::size), (envs, Critic::size), and (2, envs, FIGURES) of both networks.
struct Found {
  int64_t of_actor, of_critic, figures;
};

// ---- moments of the advantages ---------------------------------------------------------------------------------------
// Of each of `minibatches` equal parts of `total` rows, of which the first ones have a row more where they cannot be equal:
// found (minibatches, parts, MOMENTS).
extern "C" __global__ void moments(Rows data, int64_t order, int64_t found, int total, int minibatches, int parts,
                                   int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  for (int job = env_id(); job < minibatches * parts; job += num_envs) {
    const int number = job / parts, length = total / minibatches, more = total % minibatches;
    const Minibatch own{order, number * length + min(number, more), length + (number < more)};
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

// The gradient of one network, by env `part` of `parts`: written to `gradient` and `found`. `differentiate` writes the gradient
// of a row over what the network gives for it.
template <class Net, int Numbers, class Differentiate>
__device__ void learn(const Rows& data, const Seen& seen, const Minibatch& own, const float* vector, int part, int parts,
                      Shared& shared, float* loaded, float weight, float* gradient, double* found,
                      const Differentiate& differentiate) {
  float* units = loaded + Memory<Net>::tile;
  Net::load(vector, loaded);
  Net net;
  for (int i = 0; lane() < TILE && i < NUM_FIGURES; ++i) shared.figures[lane()][i] = 0.0;  // by the lane that has the row
  for (int first = part * TILE; first < own.count; first += parts * TILE) {
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
  net.give(gradient);
  for (int i = 0; i < NUM_FIGURES; ++i) {
    const double sum = sum_of_lanes(shared.sums, lane() < TILE ? shared.figures[lane()][i] : 0.0);
    if (lane() == 0) found[i] = sum * (double)weight;
  }
}

// actor and critic: what they read. moments: of this minibatch, (parts, MOMENTS).
extern "C" __global__ void gradients(Rows data, Seen actor, Seen critic, Minibatch own, int64_t vector, int64_t moments,
                                     int64_t head_sizes, Found found, Coefficients coefficients, Loss loss, int parts,
                                     int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Shared, shared, 1);
  ENV_SHARED(float4, numbers, SHARED / 4);
  const int envs = num_envs == 1 ? 1 : num_envs / 2, part = env_id() % envs;  // of a network
  const Common common = common_of(shared[0].sums, moments, loss, own.count, parts);
  const Factors now = coefficients.now();
  const float* weights = (const float*)vector;
  double* figures = (double*)found.figures + (size_t)part * FIGURES;
  if (env_id() < envs) {
    float* gradient = (float*)found.of_actor + (size_t)part * Actor::size;
    learn<Actor, FEATURES>(data, actor, own, weights, part, envs, shared[0], (float*)numbers, common.weight, gradient,
                           figures, [&](const Spaced<PITCH>& logits, int row, double* sums) {
                             differentiate_choices(data, loss, common, (const int*)head_sizes, now, logits, row, sums);
                           });
  }
  if (num_envs == 1 || env_id() >= envs) {
    sync_env();  // orders the actor's work before the critic's
    float* gradient = (float*)found.of_critic + (size_t)part * Critic::size;
    learn<Critic, CRITIC_FEATURES>(
        data, critic, own, weights + Actor::size, part, envs, shared[0], (float*)numbers, common.weight, gradient,
        figures + (size_t)envs * FIGURES, [&](const Spaced<PITCH>& value, int row, double* sums) {
          value[0] = differentiate_value(data, loss, common, now, value[0], row, sums);
        });
  }
}

// ---- sums ------------------------------------------------------------------------------------------------------------
constexpr int WAYS = 4, AT_ONCE = LANES / WAYS;  // lanes that share a parameter, and parameters of an env at a time

// Adds up what `envs` found of each network: gradient (SIZE,), diagnostics (NUM_FIGURES,), and in squares (num_envs,) the sum of
// each env's part of the gradient.
extern "C" __global__ void add_up(Found found, int64_t gradient, int64_t squares, int64_t diagnostics, int envs,
                                  int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  double squared = 0.0;
  for (int first = env_id() * AT_ONCE; first < SIZE; first += num_envs * AT_ONCE) {
    const int place = min(first + lane() % AT_ONCE, SIZE - 1);
    const bool is_actor = place < Actor::size;
    const float* parts = is_actor ? (const float*)found.of_actor + place : (const float*)found.of_critic + (place - Actor::size);
    const size_t pitch = is_actor ? Actor::size : Critic::size;
    double sum = 0.0;
#pragma unroll 4
    for (int env = lane() / AT_ONCE; env < envs; env += WAYS) sum += (double)parts[env * pitch];
    sync_env();  // orders the reading of sums before
    sums[0].of_lanes[lane()] = sum;
    sync_env();  // orders the sums before they are added
    if (lane() < AT_ONCE && first + lane() < SIZE) {
      for (int way = 1; way < WAYS; ++way) sum += sums[0].of_lanes[lane() + way * AT_ONCE];
      const float whole = (float)sum;
      ((float*)gradient)[place] = whole;
      squared += (double)whole * (double)whole;
    }
  }
  const double of_env = sum_of_lanes(sums[0], squared);
  if (lane() == 0) ((double*)squares)[env_id()] = of_env;
  if (env_id() > 0) return;
  for (int i = 0; i < NUM_FIGURES; ++i) {
    double some = 0.0;
    for (int env = lane(); env < 2 * envs; env += LANES) some += ((const double*)found.figures)[env * FIGURES + i];
    const double sum = sum_of_lanes(sums[0], some);
    if (lane() == 0) ((float*)diagnostics)[i] = (float)sum;
  }
}

// ---- length ----------------------------------------------------------------------------------------------------------
// Scales the gradient down to a length of `most`, unless that is 0; norm (1,) is its length before, from `parts` squares.
extern "C" __global__ void limit(int64_t gradient, int64_t squares, int64_t norm, float most, int parts, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  double some = 0.0;
  for (int part = lane(); part < parts; part += LANES) some += ((const double*)squares)[part];
  const float length = (float)sqrt(sum_of_lanes(sums[0], some));
  if (env_id() == 0 && lane() == 0) *(float*)norm = length;
  const float wanted = most / (length + 1e-6f), factor = wanted > 1.0f ? 1.0f : wanted;  // NaN stays NaN, as in torch
  for (int i = env_id() * LANES + lane(); most > 0.0f && i < SIZE; i += num_envs * LANES) ((float*)gradient)[i] *= factor;
}
