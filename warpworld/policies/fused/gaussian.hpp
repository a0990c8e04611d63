// The loss of an actor whose actions lie in a Box, on one tile of samples, and its gradient at the means and at the
// logarithms of the widths. The formulas are those of `Gaussian` in policies/distributions/distribution.py.
#pragma once

#include "losses.hpp"

namespace fused {

constexpr float log_2_pi = 1.83787707f;

// The actions' widths, in torch's memory.
struct Widths {
  int count;  // dimensions of the Box
  const float* log_std;
};

// Puts how many widths each action lies above its mean into `deviations`, [count][tile]; 0 where no row counts.
static void deviations_of(const Rows& rows, const TileRows& those, const Widths& widths, const LossScratch& scratch,
                          float* deviations) {
  for (int d = 0; d < widths.count; d++) {
    float *of_dimension = deviations + d * tile, *means = scratch.logits + d * tile;
    for (int s = 0; s < tile; s++)
      of_dimension[s] = scratch.weights[s] == 0.0f ? 0.0f : rows.box_actions[those.rows[s] * widths.count + d];
    const Vector inverse = exp(all(-widths.log_std[d]));
    for (int s = 0; s < tile; s += lanes) {
      const Vector deviation = (load(of_dimension + s) - load(means + s)) * inverse;
      store(of_dimension + s, where_counted(load(scratch.weights + s), deviation));
    }
  }
}

// From means in scratch.logits to scratch.gradients, 0 where no row counts; adds to the gradients of log_std.
static void box_loss(const Rows& rows, const TileRows& those, const Widths& widths, const Loss& loss,
                     const LossScratch& scratch, double* sums, float* of_log_std) {
  float* deviations = scratch.gradients;
  deviations_of(rows, those, widths, scratch, deviations);
  float log_stds = 0.0f;
  for (int d = 0; d < widths.count; d++) log_stds += widths.log_std[d];
  Vector counted = {};
  for (int s = 0; s < tile; s += lanes) {
    const Vector weight = load(scratch.weights + s);
    Vector squares = {}, lost = {};  // by rounding (Kahan): a ratio takes a small difference of large sums
    for (int d = 0; d < widths.count; d++) {
      const Vector deviation = load(deviations + d * tile + s), more = deviation * deviation - lost;
      const Vector next = squares + more;
      lost = (next - squares) - more;
      squares = next;
    }
    const Vector log_prob = -0.5f * squares - (log_stds + 0.5f * widths.count * log_2_pi);
    store(scratch.log_ratio + s, where_counted(weight, log_prob - load(scratch.log_probs + s)));
    counted += where_counted(weight, all(1.0f));
  }
  pull_of(loss, scratch, sums);

  sums[entropy] += sum(counted) * (double)(0.5f * widths.count * (1.0f + log_2_pi) + log_stds);
  for (int d = 0; d < widths.count; d++) {
    const Vector inverse = exp(all(-widths.log_std[d]));
    Vector total = {};
    for (int s = 0; s < tile; s += lanes) {
      const Vector deviation = load(deviations + d * tile + s), pull = load(scratch.pull + s);
      total += pull * (deviation * deviation - 1.0f) - loss.ent_coef * load(scratch.weights + s);
      store(scratch.gradients + d * tile + s, pull * deviation * inverse);
    }
    of_log_std[d] += sum(total);
  }
}

}  // namespace fused
