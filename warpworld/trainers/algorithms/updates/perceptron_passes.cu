// Passes over a rollout's rows for policies of two small perceptrons each, an actor of choices and a critic, of up to four policies
// in one launch: of each minibatch the forward, the losses of choice_loss.cuh with their diagnostics, and the backward; then the sum
// over all rows, the limit of the gradient's length, and a step of Adam, or with MUON of Muon. passes.cuh says how blocks share it.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for what there is not. The vector of
// parameters has the actor's layers, then the critic's, weights (outputs, inputs) before biases, each from a multiple of four on.
//
// The turns that learn from a minibatch are parts of its rows, for the actor and then for the critic.
// The build defines, for each of NUM_SHAPES shapes of networks, the constants that struct Shape names below, with _n behind them.
#include "passes.cuh"
#include "perceptron_layers.cuh"

// Architectures before sm_90, and networks of several shapes, spill registers where THREADS_AT_ONCE threads are: one block less is
// at once there.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900 || NUM_SHAPES > 1) && WW_LEAST_BLOCKS > 1
#undef WW_LEAST_BLOCKS
#define WW_LEAST_BLOCKS (THREADS_AT_ONCE / LANES - 1)
#endif

constexpr int larger(int a, int b) { return a > b ? a : b; }

// Numbers of a network in shared memory: its weights, and a tile.
template <class Net>
struct Memory {
  static constexpr int tile = whole_fours(Net::weights), size = tile + Net::tile * Net::Kind::pitch;  // where the tile begins
};

// What the networks read, units of hidden layers, or 0; and rows that are taken at once.
#define SHAPE(n)                                                                                                          \
  struct Shape##n {                                                                                                       \
    static constexpr int features = FEATURES_##n, critic_features = CRITIC_FEATURES_##n, tile = TILE_##n;                 \
    using Of = Tiles<tile, IS_TANH_##n>;                                                                                  \
    using Choices = Heads<NUM_HEADS_##n, LOGITS_##n, HEAD_SIZE_##n>;                                                      \
    using Actor = typename Network<Of, features, HIDDEN_1_##n, HIDDEN_2_##n, LOGITS_##n>::Type;                           \
    using Critic = typename Network<Of, critic_features, HIDDEN_1_##n, HIDDEN_2_##n, 1>::Type;                            \
    static constexpr int size = Actor::size + Critic::size;                            /* of the vector of parameters */  \
    static constexpr int shared = larger(Memory<Actor>::size, Memory<Critic>::size);   /* numbers in shared memory */     \
  };
SHAPE(0)
#if NUM_SHAPES > 1
SHAPE(1)
#else
using Shape1 = Shape0;
#endif
#if NUM_SHAPES > 2
SHAPE(2)
#else
using Shape2 = Shape0;
#endif
#if NUM_SHAPES > 3
SHAPE(3)
#else
using Shape3 = Shape0;
#endif

constexpr int MOST_ROWS = larger(larger(Shape0::tile, Shape1::tile), larger(Shape2::tile, Shape3::tile));
constexpr int OF_NETWORKS = larger(larger(Shape0::shared, Shape1::shared), larger(Shape2::shared, Shape3::shared));
constexpr int SHARED = MUON ? larger(OF_NETWORKS, whole_fours(NUMBERS_OF_TILES)) : OF_NETWORKS;

// What parts of a minibatch find: (parts, Actor::size), (parts, Critic::size), and (2, parts, FIGURES) of both networks.
struct Found {
  int64_t of_actor, of_critic, figures;
};

// A policy of a launch, with what its networks read.
struct Learnt {
  Course course;
  Seen actor, critic;
  Found found;
};

// ---- gradients -------------------------------------------------------------------------------------------------------
// Rows of a tile.
struct OfTile {
  double figures[MOST_ROWS][NUM_FIGURES];  // of each row, over all tiles: registers are for gradients
  int rows[MOST_ROWS];                     // below 0 those that there are not, or that do not count
};

// One policy.
template <class Shape>
struct Policy {
  using Actor = typename Shape::Actor;
  using Critic = typename Shape::Critic;
  static constexpr int pitch = Shape::Of::pitch;

  const Learnt& learnt;
  Shared& shared;
  OfTile& of_tile;
  float* numbers;

  __device__ const Course& course() const { return learnt.course; }
  __device__ int parts() const { return learnt.course.division.learning / 2; }
  __device__ Summed summed() const {
    return Summed{Shape::size, parts(), 2 * parts(), (const double*)learnt.found.figures};
  }
  __device__ Column column(int place) const {
    if (place < Actor::size) return Column{(const float*)learnt.found.of_actor + place, Actor::size};
    return Column{(const float*)learnt.found.of_critic + (place - Actor::size), Critic::size};
  }

  // The rows of a tile, as (numbers, pitch); 0 for what is not there.
  template <int Numbers>
  __device__ void read_tile(const Seen& seen, const Minibatch& own, int first, float* units) const {
    sync_env();  // orders the reading of the tile before
    if (lane() < Shape::tile) {
      const int row = first + lane() < own.count ? own.row(first + lane()) : -1;
      of_tile.rows[lane()] = row >= 0 && course().data.counts(row) ? row : -1;
    }
    sync_env();  // orders the numbers of rows before they are read
    for (int i = lane(); i < Shape::tile * Numbers; i += LANES) {
      const int in_tile = i / Numbers, number = i % Numbers, row = of_tile.rows[in_tile];
      units[number * pitch + in_tile] = row < 0 ? 0.0f : seen.at((size_t)row * Numbers + number, number);
    }
    sync_env();  // orders the rows before layers read them
  }

  // The gradient of one network, of the part of a minibatch that is the block's turn: written to `gradients` and to figures, at
  // the part's places. `differentiate` writes the gradient of a row over what the network gives for it.
  template <class Net, int Numbers, class Differentiate>
  __device__ void differentiate_part(const Seen& seen, const Minibatch& own, const float* vector, float weight,
                                     int64_t gradients, const Differentiate& differentiate) const {
    float* units = numbers + Memory<Net>::tile;
    const int of_network = parts();
    Net::load(vector, numbers);
    Net net;
    for (int i = 0; lane() < Shape::tile && i < NUM_FIGURES; ++i) of_tile.figures[lane()][i] = 0.0;  // by the row's own lane
    const int part = course().division.item_of(shared.turn) % of_network;
    for (int first = part * Shape::tile; first < own.count; first += of_network * Shape::tile) {
      read_tile<Numbers>(seen, own, first, units);
      Net::forward(numbers, units);
      if (lane() < Shape::tile) {
        const Spaced<pitch> given{units + Net::outputs * pitch + lane()};
        const int row = of_tile.rows[lane()];
        if (row >= 0)
          differentiate(given, row, of_tile.figures[lane()]);
        else
          for (int k = 0; k < Net::given; ++k) given[k] = 0.0f;
      }
      sync_env();  // orders the gradients before layers read them
      net.backward(numbers, units);
    }
    const int item = course().division.item_of(shared.turn);  // read again: registers are for gradients
    net.give((float*)gradients + (size_t)(item % of_network) * Net::size);
    for (int i = 0; i < NUM_FIGURES; ++i) {
      const double sum = sum_of_lanes(shared.sums, lane() < Shape::tile ? of_tile.figures[lane()][i] : 0.0);
      if (lane() == 0) ((double*)learnt.found.figures)[(size_t)item * FIGURES + i] = sum * (double)weight;
    }
  }

  // A part of a minibatch for one network.
  __device__ void learn(int place, int item, int before) const {
    const Course& own = course();
    Turns{own.terms.counters}.wait_for(before);
    const Minibatch minibatch = own.passes.at(place);
    const Common common =
        common_of(shared.sums, own.moments_of(place), own.terms.loss, minibatch.count, own.division.moments);
    const Factors now = own.terms.coefficients.now();
    const float* weights = (const float*)own.vector;
    if (item < parts()) {
      differentiate_part<Actor, Shape::features>(
          learnt.actor, minibatch, weights, common.weight, learnt.found.of_actor,
          [&](const Spaced<pitch>& logits, int row, double* sums) {
            differentiate_choices<typename Shape::Choices>(own.data, own.terms.loss, common, (const int*)own.head_sizes, now,
                                                           logits, row, sums);
          });
    } else {
      differentiate_part<Critic, Shape::critic_features>(
          learnt.critic, minibatch, weights + Actor::size, common.weight, learnt.found.of_critic,
          [&](const Spaced<pitch>& value, int row, double* sums) {
            value[0] = differentiate_value(own.data, own.terms.loss, common, now, value[0], row, sums);
          });
    }
  }
};

// ---- passes ----------------------------------------------------------------------------------------------------------
// The passes of up to four policies, of which each has its minibatches one after the other; a policy that takes no part is all zeros.
extern "C" __global__ void learn_passes(Learnt first, Learnt second, Learnt third, Learnt fourth, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Shared, shared, 1);
  ENV_SHARED(Learnt, own, 1);
  ENV_SHARED(OfTile, of_tile, 1);
  ENV_SHARED(float4, fours, SHARED / 4);
  float* numbers = (float*)fours;
  bool has_turns = take_policy(shared[0], own[0], true, first, second, third, fourth);
  while (has_turns) {
    const int shape = own[0].course.division.shape;
    if (shape == 0) take_passes(Policy<Shape0>{own[0], shared[0], of_tile[0], numbers}, shared[0], numbers, num_envs);
#if NUM_SHAPES > 1
    if (shape == 1) take_passes(Policy<Shape1>{own[0], shared[0], of_tile[0], numbers}, shared[0], numbers, num_envs);
#endif
#if NUM_SHAPES > 2
    if (shape == 2) take_passes(Policy<Shape2>{own[0], shared[0], of_tile[0], numbers}, shared[0], numbers, num_envs);
#endif
#if NUM_SHAPES > 3
    if (shape == 3) take_passes(Policy<Shape3>{own[0], shared[0], of_tile[0], numbers}, shared[0], numbers, num_envs);
#endif
    has_turns = take_policy(shared[0], own[0], false, first, second, third, fourth);
  }
}
