// Passes over a rollout's rows for a policy of two small perceptrons, an actor of choices and a critic, in one launch: of each
// minibatch the forward, the losses of choice_loss.cuh with their diagnostics, and the backward; then the sum over all rows,
// the limit of the gradient's length, and a step of Adam, or with MUON of Muon. Moments of the advantages are found for all
// minibatches before.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for what there is not. The vector of
// parameters has the actor's layers, then the critic's, weights (outputs, inputs) before biases, each from a multiple of four on.
//
// The first `num_envs` envs are blocks that work, in turns (in_turn.cuh). A minibatch is three phases: gradients of parts of its
// rows, for the actor and for the critic; sums over parts, for some parameters each; steps, for some parameters each. Muon's
// phases follow these. Every part and every sum has a place of its own and is added up in a fixed order, so that results do not
// depend on which block did what.
// FEATURES and CRITIC_FEATURES are read, HIDDEN_1 and HIDDEN_2 are units of hidden layers, or 0. TILE rows are taken at once.
#include "passes.cuh"
#include "perceptron_layers.cuh"

// Architectures before sm_90 spill registers where THREADS_AT_ONCE threads are: one block less is at once there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900 && WW_LEAST_BLOCKS > 1
#undef WW_LEAST_BLOCKS
#define WW_LEAST_BLOCKS (THREADS_AT_ONCE / LANES - 1)
#endif

using Actor = Network<FEATURES, HIDDEN_1, HIDDEN_2, LOGITS>::Type;
using Critic = Network<CRITIC_FEATURES, HIDDEN_1, HIDDEN_2, 1>::Type;

constexpr int SIZE = Actor::size + Critic::size;  // of the vector of parameters

constexpr int larger(int a, int b) { return a > b ? a : b; }

// Numbers of a network in shared memory: its weights, and a tile.
template <class Net>
struct Memory {
  static constexpr int tile = whole_fours(Net::weights), size = tile + Net::tile * PITCH;  // where the tile begins
};

constexpr int OF_NETWORKS = larger(Memory<Actor>::size, Memory<Critic>::size);
constexpr int SHARED = MUON ? larger(OF_NETWORKS, whole_fours(NUMBERS_OF_TILES)) : OF_NETWORKS;

// What parts of a minibatch find: (parts, Actor::size), (parts, Critic::size), and (2, parts, FIGURES) of both networks; and in
// squares (sums,) what each sum has of the gradient's.
struct Found {
  int64_t of_actor, of_critic, figures, squares;
};

// How work is divided: minibatches from `first` on, parts of a minibatch for each network, sums and steps of it, and turns of
// Muon's.
struct Division {
  int first, count, parts, sums, steps, matrices;

  __device__ int turns() const { return 2 * parts + sums + steps + (MUON ? matrices : 0); }  // of a minibatch
};

// ---- moments of the advantages ---------------------------------------------------------------------------------------
// Of each minibatch: found (minibatches, parts, MOMENTS).
extern "C" __global__ void moments(Rows data, Passes passes, int64_t found, int minibatches, int parts, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  find_moments(data, passes, (double*)found, minibatches, parts, num_envs, sums[0]);
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

// What parts found of a parameter.
struct OfParts {
  Found found;

  __device__ Column at(int place) const {
    if (place < Actor::size) return Column{(const float*)found.of_actor + place, Actor::size};
    return Column{(const float*)found.of_critic + (place - Actor::size), Critic::size};
  }
};

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
      const Summed summed{SIZE, division.parts, learning, division.sums, (const double*)found.figures, (double*)found.squares};
      add_up(summed, OfParts{found}, (float*)given.gradient, diagnostics, item - learning, shared[0].sums);
    } else if (!MUON || item < learning + division.sums + division.steps) {
      turns.wait_for(turn - item + learning + division.sums);
      const Stepped stepped{SIZE, division.sums, division.steps, (const double*)found.squares};
      step(adam, stepped, given, (float*)vector, diagnostics, number, item - learning - division.sums, shared[0].sums);
    } else {
      const int of_matrices = item - learning - division.sums - division.steps;
      turns.wait_for(turn - of_matrices + phase_of(adam.muon, of_matrices));
      take_turn(adam.muon, of_matrices, rate_in(adam, number), (float*)vector, (float*)numbers, shared[0].sums);
    }
    turns.done();
  }
  end_launch(turns, adam, division.count, num_envs);
}
