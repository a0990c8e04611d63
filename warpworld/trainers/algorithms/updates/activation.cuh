// The activation of hidden layers, forward and backward: tanh, or else relu.
#pragma once

#include <warpworld.cuh>

// NaN stays NaN, as in torch.
__device__ inline float activated(float x, bool is_tanh) {
  if (is_tanh) return tanhf(x);
  return x < 0.0f ? 0.0f : x;
}

// A gradient behind the activation -> before it, by what the layer gave.
__device__ inline float through_activation(float gradient, float given, bool is_tanh) {
  if (is_tanh) return gradient * (1.0f - given * given);
  return given <= 0.0f ? 0.0f : gradient;
}
