// Q-learning's targets of transitions, and its loss on one tile of them; formulas as in trainers/algorithms/q_learning.py and dqn.py.
#pragma once

#include "dueling.hpp"

namespace fused {

constexpr float scale_epsilon = 1e-3f;  // EPSILON of value_rescale.py

// A batch of B transitions; fused/calls.py mirrors it.
struct TransitionRows {
  const float *returns, *discounts, *weights;  // (B,)
  const float *chooses, *judges;  // (B, choices), values of what follows: by the network that chooses, by the target
  const uint8_t* masks;           // 0 for a choice that is forbidden then, a row each `mask_stride`; null where none is
  int64_t mask_stride, count;
  float *targets, *errors;  // (B,), written
  int rescales;             // values are on a scale that grows with their square root, see value_rescale.py
};

static float sign_of(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

static float rescaled(float x) {
  return sign_of(x) * (__builtin_sqrtf(__builtin_fabsf(x) + 1.0f) - 1.0f) + scale_epsilon * x;
}

static float unscaled(float x) {
  const float more = __builtin_fabsf(x) + 1.0f + scale_epsilon;
  const float root = 2.0f * more / (1.0f + __builtin_sqrtf(1.0f + 4.0f * scale_epsilon * more));
  return sign_of(x) * (root * root - 1.0f);
}

// The first of the best choices of a head among those that are allowed; where none is, all are.
static int best_choice(const float* values, const uint8_t* allowed, int choices) {
  int best = -1;
  for (int a = 0; a < choices; a++)
    if ((!allowed || allowed[a]) && (best < 0 || values[a] > values[best])) best = a;
  return best < 0 ? best_choice(values, nullptr, choices) : best;
}

// The target's value of what follows a transition, the mean over heads of the choices that are best.
static float following_of(const TransitionRows& rows, const int* head_sizes, int num_heads, int outputs, int64_t row) {
  const float *chooses = rows.chooses + row * outputs, *judges = rows.judges + row * outputs;
  const uint8_t* allowed = rows.masks ? rows.masks + row * rows.mask_stride : nullptr;
  float sum = 0.0f;
  for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++])
    sum += judges[first + best_choice(chooses + first, allowed ? allowed + first : nullptr, head_sizes[head])];
  return sum / (float)num_heads;
}

static void set_targets(const TransitionRows& rows, const Model& model) {
  for (int64_t row = 0; row < rows.count; row++) {
    float total = rows.returns[row];
    if (rows.discounts[row] > 0.0f) {
      const float following = following_of(rows, model.head_sizes, model.num_heads, model.actor.outputs, row);
      total += rows.discounts[row] * (rows.rescales ? unscaled(following) : following);
    }
    rows.targets[row] = rows.rescales ? rescaled(total) : total;
  }
}

enum TransitionDiagnostic { transition_loss, transition_value };

// Value of what a tile's row did: the mean over heads of its choices' values.
static float value_of(const Model& model, const LossScratch& scratch, int s) {
  float sum = 0.0f;
  for (int head = 0, first = 0; head < model.num_heads; first += model.head_sizes[head++])
    sum += scratch.logits[(first + scratch.taken[head * tile + s]) * tile + s];
  return sum / (float)model.num_heads;
}

// From values of choices in `logits` to the gradient there of the mean of weight * huber(target - value); `sums` are those
// of losses and values.
static void huber_of(const Model& model, const TransitionRows& rows, const TileRows& those, const LossScratch& scratch,
                     double* sums) {
  memset(scratch.gradients, 0, (size_t)model.actor.outputs * tile * sizeof(float));
  for (int s = 0; s < those.samples; s++) {
    if (!those.counts[s]) continue;
    const int64_t row = those.rows[s];
    const float value = value_of(model, scratch, s), error = rows.targets[row] - value, size = __builtin_fabsf(error);
    rows.errors[row] = error;
    sums[transition_loss] += rows.weights[row] * (size < 1.0f ? 0.5f * error * error : size - 0.5f);
    sums[transition_value] += value;
    const float slope = size > 1.0f ? sign_of(error) : error;
    const float of_choice = -rows.weights[row] * slope / ((float)rows.count * (float)model.num_heads);
    for (int head = 0, first = 0; head < model.num_heads; first += model.head_sizes[head++])
      scratch.gradients[(first + scratch.taken[head * tile + s]) * tile + s] = of_choice;
  }
}

}  // namespace fused
