// Passes over sequences of a rollout's rows for policies with a memory of minimal GRUs (policies/layers/cells.py, MinGRU), or over
// rows, as sequences of one step, for those of perceptrons; of up to four policies in one launch: of each minibatch the forward, the
// losses of choice_loss.cuh with their diagnostics, and the backward through time; then the sum over all rows, the limit of the
// gradient's length, and a step of Adam, or with MUON of Muon. passes.cuh says how blocks share it.
//
// The networks are a list of operations, so that their number and sizes are no constants: layers of an encoder, layers of the
// memory and their means through time, the heads and the loss, then the way back, and last the gradients of all weights. What an
// operation gives is a matrix in `scratch`, of a row for each step of each sequence, in which the steps of a sequence lie one
// behind the other. Products are tiles (tiles.cuh), of float32 or of bfloat16: then what a layer reads, its weights, and the
// gradient of what it gives are rounded, but for last layers.
//
// Each operation's turns wait for those of operations before. The build defines, for each of NUM_SHAPES shapes of networks, the constants
// that struct Shape names below, with _n behind them.
#include "activation.cuh"
#include "../../collecting/mingru.cuh"
#include "passes.cuh"

// Whether layers of the encoder have tanh, or else relu; and choices.
#define SHAPE(n)                                                         \
  struct Shape##n {                                                      \
    static constexpr bool is_tanh = IS_TANH_##n;                         \
    using Choices = Heads<NUM_HEADS_##n, LOGITS_##n, HEAD_SIZE_##n>;     \
  };
SHAPE(0)
#if NUM_SHAPES > 1
SHAPE(1)
#endif
#if NUM_SHAPES > 2
SHAPE(2)
#endif
#if NUM_SHAPES > 3
SHAPE(3)
#endif

enum { LINEAR, MEANS, LOSS, MEANS_BACK, LINEAR_BACK, WEIGHTS };

// A part of a forward or backward. The loss finds values at `gradient`, of which a row has `split` with `layer` before the value:
// with the logits, or in a matrix of their own. Matrices are given by how many columns of scratch lie before them; below 0 stand
// the observations.
struct Operation {
  int kind, turns, waits;                     // turns of it, and how many before it are done when it begins
  int inputs, outputs;                        // numbers that its layer reads and gives, of means twice a state and a state
  int read, given, gradient;                  // what its layer reads and gives, and where the gradient of what it reads goes
  int weights, biases, others, other_biases;  // in the vector: of outputs below `split`, and of those from there on
  int split, is_activated, layer;             // whether an activation follows, or was before; number of the memory's layer
  int is_reduced;                             // whether products are of bfloat16
};

// All of them, (count,) Operation; of a minibatch `turns` in all, of which `parts` add up rows for gradients of weights, into
// partials (parts, size), and `loss_parts` are of the loss, whose figures are (loss_parts, FIGURES). scratch has `rows` for
// each of its columns.
struct Plan {
  int64_t operations, scratch, partials, figures;
  int count, turns, parts, loss_parts, rows, size;

  __device__ float* matrix(int columns) const { return (float*)scratch + (size_t)columns * rows; }
};

// What sequences begin with: states (sequences, state_size) float, and where they are zeroed, (sequences, steps) bool.
struct Memories {
  int64_t states, starts;
  int state_size;
};

// A policy of a launch, with what its networks read.
struct Learnt {
  Course course;
  Seen seen;
  Memories memories;
  Plan plan;
};

// ---- layers ----------------------------------------------------------------------------------------------------------
// What a layer reads, (rows, inputs).
struct Read {
  const float* numbers;
  Seen seen;
  Minibatch own;
  int inputs;

  __device__ bool lies() const { return true; }
  __device__ float at(int row, int number) const {
    if (numbers) return numbers[(size_t)row * inputs + number];
    return seen.at((size_t)own.row(row) * inputs + number, number);
  }
};

// What it reads, with a column of ones behind: the weights of biases.
struct ReadWithOnes {
  Read read;

  __device__ bool lies() const { return true; }
  __device__ float at(int row, int number) const { return number < read.inputs ? read.at(row, number) : 1.0f; }
};

__device__ inline Read read_of(const Plan& plan, const Operation& own, const Seen& seen, const Minibatch& minibatch) {
  return Read{own.read < 0 ? nullptr : plan.matrix(own.read), seen, minibatch, own.inputs};
}

// The weights of a layer, (outputs, inputs), or of two that read the same.
struct Weights {
  const float* vector;
  Operation own;

  __device__ bool lies() const { return true; }
  __device__ int place(int output, int input) const {
    return output < own.split ? own.weights + output * own.inputs + input
                              : own.others + (output - own.split) * own.inputs + input;
  }
  __device__ int bias(int output) const {
    return output < own.split ? own.biases + output : own.other_biases + (output - own.split);
  }
  __device__ float at(int output, int input) const { return vector[place(output, input)]; }
};

// The same as (inputs, outputs).
struct Turned {
  Weights weights;

  __device__ bool lies() const { return false; }
  __device__ float at(int input, int output) const { return weights.at(output, input); }
};

// A tile of what a layer gives.
template <class Shape>
__device__ void give_tile(const Plan& plan, const Operation& own, const Read& read, const float* vector, int tile, float* shared) {
  const Weights weights{vector, own};
  const int rows = read.own.rows(), across = tiles_of(own.outputs), row = tile / across * SIDE, column = tile % across * SIDE;
  float *given = plan.matrix(own.given), sums[OF_LANE];
  multiply(read, Turned{weights}, rows, own.inputs, own.outputs, row, column, own.is_reduced, shared, sums);
  const int output = column + column_of();
  if (output >= own.outputs) return;
  const float bias = vector[weights.bias(output)];
#pragma unroll
  for (int k = 0; k < OF_LANE; ++k) {
    const int r = row + row_of(k);
    if (r < rows)
      given[(size_t)r * own.outputs + output] =
          own.is_activated ? activated(sums[k] + bias, Shape::is_tanh) : sums[k] + bias;
  }
}

// A tile of the gradient at what a layer read, before the activation that gave it.
template <class Shape>
__device__ void take_back_tile(const Plan& plan, const Operation& own, const Read& read, const float* vector, int tile,
                               float* shared) {
  const int rows = read.own.rows(), across = tiles_of(own.inputs), row = tile / across * SIDE, column = tile % across * SIDE;
  float *gradient = plan.matrix(own.gradient), sums[OF_LANE];
  const View given{plan.matrix(own.given), own.outputs, 1};
  multiply(given, Weights{vector, own}, rows, own.outputs, own.inputs, row, column, own.is_reduced, shared, sums);
  const int input = column + column_of();
  if (input >= own.inputs) return;
#pragma unroll
  for (int k = 0; k < OF_LANE; ++k) {
    const int r = row + row_of(k);
    if (r >= rows) continue;
    gradient[(size_t)r * own.inputs + input] =
        own.is_activated ? through_activation(sums[k], read.at(r, input), Shape::is_tanh) : sums[k];
  }
}

// A tile of the gradient of a layer's weights and biases, of a part of the rows.
__device__ void weigh_tile(const Plan& plan, const Operation& own, const Read& read, int turn, float* shared) {
  const int across = tiles_of(own.inputs + 1), tiles = tiles_of(own.outputs) * across, part = turn / tiles, tile = turn % tiles;
  const int of_part = (read.own.rows() + plan.parts - 1) / plan.parts, first = part * of_part;
  const int rows = max(min(of_part, read.own.rows() - first), 0), row = tile / across * SIDE, column = tile % across * SIDE;
  const View given{plan.matrix(own.given) + (size_t)first * own.outputs, own.outputs, 1};
  // rows of a part, numbered from 0 on
  struct Part {
    ReadWithOnes read;
    int first;

    __device__ bool lies() const { return true; }
    __device__ float at(int row, int number) const { return read.at(first + row, number); }
  };
  float* partial = (float*)plan.partials + (size_t)part * plan.size;
  float sums[OF_LANE];
  multiply(given.turned(), Part{ReadWithOnes{read}, first}, own.outputs, rows, own.inputs + 1, row, column,
           own.is_reduced, shared, sums);
  const Weights weights{nullptr, own};
  const int input = column + column_of();
#pragma unroll
  for (int k = 0; k < OF_LANE; ++k) {
    const int output = row + row_of(k);
    if (output >= own.outputs || input > own.inputs) continue;
    partial[input < own.inputs ? weights.place(output, input) : weights.bias(output)] = sums[k];
  }
}

// ---- through time ----------------------------------------------------------------------------------------------------
// The way of one unit of one sequence, of the minibatch's numbers `turn * LANES + lane()`.
__device__ void remember(const Plan& plan, const Operation& own, const Memories& memories, const Minibatch& minibatch, int turn,
                         bool is_back) {
  const int size = own.outputs, i = turn * LANES + lane(), unit = i % size, of_minibatch = i / size;
  if (of_minibatch >= minibatch.count) return;
  const size_t sequence = minibatch.sequence(of_minibatch), row = (size_t)of_minibatch * minibatch.steps;
  const Way way{minibatch.steps, (size_t)(2 * size), (size_t)size, (size_t)size, 1};
  const RealTensor layer = RealTensor{(int64_t)plan.matrix(own.read), false}.behind(row * 2 * size + unit);
  const bool* begins = (const bool*)memories.starts + sequence * minibatch.steps;
  const float before = ((const float*)memories.states)[sequence * memories.state_size + own.layer * size + unit];
  float* means = plan.matrix(own.given) + row * size + unit;
  if (is_back)
    through_means(way, layer, layer, begins, before, means, plan.matrix(own.gradient) + row * size + unit);
  else
    find_means(way, layer, begins, before, means);
}

// ---- the loss --------------------------------------------------------------------------------------------------------
// Of LANES rows: gradients over what the heads gave, logits and values, and figures.
template <class Choices>
__device__ void differentiate_rows(const Learnt& learnt, const Operation& own, const Minibatch& minibatch, const Common& common,
                                   int turn, Sums& sums) {
  const Course& course = learnt.course;
  const Plan& plan = learnt.plan;
  const int i = turn * LANES + lane();
  double figures[NUM_FIGURES] = {};
  if (i < minibatch.rows()) {
    const Spaced<1> given{plan.matrix(own.given) + (size_t)i * own.outputs};
    float& value = plan.matrix(own.gradient)[(size_t)i * own.split + own.layer];
    const int row = minibatch.row(i);
    if (course.data.counts(row)) {
      const Factors now = course.terms.coefficients.now();
      differentiate_choices<Choices>(course.data, course.terms.loss, common, (const int*)course.head_sizes, now, given, row,
                                     figures);
      value = differentiate_value(course.data, course.terms.loss, common, now, value, row, figures);
    } else {
      for (int k = 0; k < Choices::choices; ++k) given[k] = 0.0f;
      value = 0.0f;
    }
  }
  for (int k = 0; k < NUM_FIGURES; ++k) {
    const double sum = sum_of_lanes(sums, figures[k]);
    if (lane() == 0) ((double*)plan.figures)[(size_t)turn * FIGURES + k] = sum * (double)common.weight;
  }
}

// ---- passes ----------------------------------------------------------------------------------------------------------
// One policy.
template <class Shape>
struct Policy {
  const Learnt& learnt;
  Shared& shared;
  float* numbers;

  __device__ const Course& course() const { return learnt.course; }
  __device__ Summed summed() const {
    return Summed{learnt.plan.size, learnt.plan.parts, learnt.plan.loss_parts, (const double*)learnt.plan.figures};
  }
  __device__ Column column(int place) const { return Column{(const float*)learnt.plan.partials + place, learnt.plan.size}; }

  // A turn of an operation.
  __device__ void operate(const Operation& own, const Minibatch& minibatch, int place, int turn) const {
    const Plan& plan = learnt.plan;
    const float* vector = (const float*)course().vector;
    if (own.kind == MEANS || own.kind == MEANS_BACK) {
      remember(plan, own, learnt.memories, minibatch, turn, own.kind == MEANS_BACK);
    } else if (own.kind == LOSS) {
      const Common common = common_of(shared.sums, course().moments_of(place), course().terms.loss, minibatch.rows(),
                                      course().division.moments);
      differentiate_rows<typename Shape::Choices>(learnt, own, minibatch, common, turn, shared.sums);
    } else {
      const Read read = read_of(plan, own, learnt.seen, minibatch);
      if (own.kind == LINEAR)
        give_tile<Shape>(plan, own, read, vector, turn, numbers);
      else if (own.kind == LINEAR_BACK)
        take_back_tile<Shape>(plan, own, read, vector, turn, numbers);
      else
        weigh_tile(plan, own, read, turn, numbers);
    }
  }

  // A turn of a minibatch.
  __device__ void learn(int place, int item, int before) const {
    const Operation* operation = (const Operation*)learnt.plan.operations;
    while (item >= operation->turns) item -= (operation++)->turns;
    Turns{course().terms.counters}.wait_for(before + operation->waits);
    operate(*operation, course().passes.at(place), place, item);
  }
};

// The passes of up to four policies, of which each has its minibatches one after the other; a policy that takes no part is all zeros.
extern "C" __global__ void learn_sequences(Learnt first, Learnt second, Learnt third, Learnt fourth, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Shared, shared, 1);
  ENV_SHARED(Learnt, own, 1);
  ENV_SHARED(float, numbers, NUMBERS_OF_TILES);
  bool has_turns = take_policy(shared[0], own[0], true, first, second, third, fourth);
  while (has_turns) {
    const int shape = own[0].course.division.shape;
    if (shape == 0) take_passes(Policy<Shape0>{own[0], shared[0], numbers}, shared[0], numbers, num_envs);
#if NUM_SHAPES > 1
    if (shape == 1) take_passes(Policy<Shape1>{own[0], shared[0], numbers}, shared[0], numbers, num_envs);
#endif
#if NUM_SHAPES > 2
    if (shape == 2) take_passes(Policy<Shape2>{own[0], shared[0], numbers}, shared[0], numbers, num_envs);
#endif
#if NUM_SHAPES > 3
    if (shape == 3) take_passes(Policy<Shape3>{own[0], shared[0], numbers}, shared[0], numbers, num_envs);
#endif
    has_turns = take_policy(shared[0], own[0], false, first, second, third, fourth);
  }
}
