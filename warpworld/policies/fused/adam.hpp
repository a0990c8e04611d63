// A step of Adam along a gradient that is scaled down to a length first (Kingma and Ba 2015, algorithm 1, with eps outside
// of the bias correction), as torch.nn.utils.clip_grad_norm_ and torch.optim.Adam take it.
#pragma once

#include "vectors.hpp"

namespace fused {

constexpr float clip_eps = 1e-6f;   // torch's, beside the length
constexpr int norm_block = 1024;    // numbers that are added up in float, before their sum is in double

// Pointers into torch's memory; fused/adam.py mirrors it.
struct AdamStep {
  int64_t count;
  float *weights, *gradient, *mean, *square;
  float* step;  // taken so far
  double rate, beta1, beta2, eps, max_norm;
  double norm;  // of the gradient, before it was scaled
};

static double length_of(const float* gradient, int64_t count) {
  double total = 0;
  for (int64_t first = 0; first < count; first += norm_block) {
    const int64_t end = first + norm_block < count ? first + norm_block : count;
    Vector squares = {};
    for (int64_t i = first; i < end; i += lanes) {
      const Vector numbers = load_part(gradient + i, end - i);
      squares += numbers * numbers;
    }
    total += sum(squares);
  }
  return __builtin_sqrt(total);
}

static void adam_step(AdamStep& call) {
  call.norm = length_of(call.gradient, call.count);
  float scale = call.max_norm / (call.norm + clip_eps);
  if (scale > 1.0f) scale = 1.0f;  // NaN stays NaN
  const double steps = *call.step += 1.0f;
  const double mean_share = 1 - __builtin_pow(call.beta1, steps), square_share = 1 - __builtin_pow(call.beta2, steps);
  const float move = call.rate / mean_share, inverse = 1 / __builtin_sqrt(square_share);
  const float beta1 = call.beta1, beta2 = call.beta2, of_gradient = 1 - call.beta1, of_square = 1 - call.beta2,
              eps = call.eps;
  for (int64_t i = 0; i < call.count; i += lanes) {
    const int n = call.count - i < lanes ? (int)(call.count - i) : lanes;
    const Vector gradient = load_part(call.gradient + i, n) * scale;
    const Vector mean = beta1 * load_part(call.mean + i, n) + of_gradient * gradient;
    const Vector square = beta2 * load_part(call.square + i, n) + of_square * gradient * gradient;
    const Vector weights = load_part(call.weights + i, n) - move * mean / (square_root(square) * inverse + eps);
    store_part(call.gradient + i, gradient, n);
    store_part(call.mean + i, mean, n);
    store_part(call.square + i, square, n);
    store_part(call.weights + i, weights, n);
  }
}

}  // namespace fused
