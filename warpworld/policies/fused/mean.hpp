// One step of a minimal GRU's running mean, and its gradient (policies/layers/gated_mean.py). `kept` is the mean before
// the step, 0 where an episode begins; a gate is what comes before its sigmoid.
#pragma once

#include "vectors.hpp"

namespace fused {

FUSED_INLINE Vector mean_after(Vector kept, Vector gate, Vector candidate) {
  return kept + sigmoid(gate) * (candidate - kept);
}

struct MeanGradient {
  Vector gate, candidate, kept;
};

// Given the gradient of the mean after the step.
FUSED_INLINE MeanGradient mean_gradient(Vector kept, Vector gate, Vector candidate, Vector gradient) {
  const Vector z = sigmoid(gate), closed = 1.0f - z;
  return {gradient * (candidate - kept) * z * closed, gradient * z, gradient * closed};
}

}  // namespace fused
