// Steps along a gradient, as work that blocks share in turns: Adam's, and with MUON those of matrices by muon.cuh.
#pragma once

#include "muon.cuh"

// Adam (Kingma and Ba 2015, algorithm 1, with eps outside of the bias correction, as torch has it): its moments (SIZE,), number
// of steps () float32 and rate (); 0 for no steps. The rate may follow the divergence of minibatches, as of KLRate: rates
// (minibatches,) then, and `has_moved` says whether steps were taken from the rollout's rows before. Muon moves the matrices.
struct Adam {
  int64_t mean, square, steps, rate, rates;
  float beta_1, beta_2, epsilon, desired_kl, lowest, highest;
  bool has_moved;
  Muon muon;
};

// Turns of a step that follow `move_along`.
__device__ inline int turns_of_matrices(const Adam& adam) { return MUON && adam.mean ? adam.muon.turns() : 0; }

// How much of a gradient is left, by its length before and the longest one, or 0 without limit. NaN stays NaN, as in torch.
__device__ inline float scale_of(float length, float longest) {
  const float wanted = longest / (length + 1e-6f), factor = wanted > 1.0f ? 1.0f : wanted;
  return longest > 0.0f ? factor : 1.0f;
}

// Scales a gradient (size,) down, and takes step `number` from 0 on along it: of some numbers, from `first` on. Of matrices it
// gathers what they are moved along.
__device__ inline void move_along(const Adam& adam, float rate, int number, float scale, float* gradient, float* vector,
                                  int first, int stride, int size) {
  float *means = (float*)adam.mean, *squares = (float*)adam.square;
  const double steps = (double)*(const float*)adam.steps + (double)(number + 1);
  const double mean_share = 1.0 - pow((double)adam.beta_1, steps), square_share = 1.0 - pow((double)adam.beta_2, steps);
  const float move = (float)((double)rate / mean_share), root = (float)sqrt(square_share);
  for (int i = first; i < size; i += stride) {
    const float along = gradient[i] * scale;
    gradient[i] = along;
    if (MUON && adam.muon.has(i)) {
      adam.muon.gather(i, along);
      continue;
    }
    const float mean = adam.beta_1 * means[i] + (1.0f - adam.beta_1) * along;
    const float square = adam.beta_2 * squares[i] + (1.0f - adam.beta_2) * along * along;
    means[i] = mean, squares[i] = square;
    vector[i] -= move * mean / (sqrtf(square) / root + adam.epsilon);
  }
}
