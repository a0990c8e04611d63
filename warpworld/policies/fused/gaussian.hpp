// The loss of an actor whose actions lie in a Box, on one tile of samples, and its gradient at the means and at the
// logarithms of the widths. The formulas are those of `Gaussian` in policies/distributions.py.
#pragma once

#include "losses.hpp"

namespace fused {

constexpr float log_2_pi = 1.83787707f;

// The actions' widths, in torch's memory.
struct Widths {
  int count;  // dimensions of the Box
  const float* log_std;
};

// Puts how many widths each action lies above its mean into `deviations`, [count][tile]; 0 for samples that are none.
static void deviations_of(const Rows& rows, const int64_t* index, int samples, const Widths& widths, const float* means,
                          float* deviations) {
  for (int d = 0; d < widths.count; d++) {
    float* of_dimension = deviations + d * tile;
    for (int s = 0; s < samples; s++) of_dimension[s] = rows.box_actions[index[s] * widths.count + d];
    const Vector inverse = exp(all(-widths.log_std[d]));
    for (int s = 0; s < samples; s += lanes)
      store(of_dimension + s, (load(of_dimension + s) - load(means + d * tile + s)) * inverse);
    for (int s = samples; s < tile; s++) of_dimension[s] = 0.0f;
  }
}

// From means in scratch.logits to scratch.gradients, 0 for samples that are none; adds to the gradients of log_std.
static void box_loss(const Rows& rows, const int64_t* index, int samples, const Widths& widths, const Loss& loss,
                     const Common& common, const LossScratch& scratch, double* sums, float* of_log_std) {
  float* deviations = scratch.gradients;
  deviations_of(rows, index, samples, widths, scratch.logits, deviations);
  float log_stds = 0.0f;
  for (int d = 0; d < widths.count; d++) log_stds += widths.log_std[d];
  for (int s = 0; s < samples; s += lanes) {
    Vector squares = {};
    for (int d = 0; d < widths.count; d++) squares += load(deviations + d * tile + s) * load(deviations + d * tile + s);
    store(scratch.log_ratio + s, -0.5f * squares - (log_stds + 0.5f * widths.count * log_2_pi));
  }
  for (int s = 0; s < samples; s++) scratch.log_ratio[s] -= rows.log_probs[index[s]];
  if (loss.surrogate)
    pull_of_surrogate(rows, index, samples, loss, common, scratch, sums);
  else
    pull_of_advantage(rows, index, samples, common, scratch, sums);
  for (int s = samples; s < tile; s++) scratch.pull[s] = 0.0f;

  sums[entropy] += samples * (double)(0.5f * widths.count * (1.0f + log_2_pi) + log_stds);
  for (int d = 0; d < widths.count; d++) {
    const Vector inverse = exp(all(-widths.log_std[d]));
    Vector total = {};
    for (int s = 0; s < tile; s += lanes) {
      const Vector deviation = load(deviations + d * tile + s), pull = load(scratch.pull + s);
      total += pull * (deviation * deviation - 1.0f);
      store(scratch.gradients + d * tile + s, pull * deviation * inverse);
    }
    of_log_std[d] += sum(total) - loss.ent_coef * common.weight * samples;
  }
}

}  // namespace fused
