// What the kernels of a minimal GRU (policies/layers/cells.py, MinGRU) share.
//
// Tensors are torch's own and lie in no store, so that parameters are their addresses. They are contiguous, and all lanes of
// all envs share their rows.
#pragma once

#include "bfloat16.cuh"
#include "cells.cuh"
#include "replay.cuh"

// A tensor of float or bfloat16.
struct RealTensor {
  int64_t address;
  bool reduced;

  __device__ RealTensor behind(size_t i) const { return RealTensor{address + (int64_t)(reduced ? 2 * i : 4 * i), reduced}; }
  __device__ float at(size_t i) const {
    return reduced ? of_bfloat16(((const uint16_t*)address)[i]) : ((const float*)address)[i];
  }
  __device__ void put(size_t i, float number) const {
    if (reduced)
      ((uint16_t*)address)[i] = bfloat16_bits(number);
    else
      ((float*)address)[i] = number;
  }
};

// ---- through time ----------------------------------------------------------------------------------------------------
constexpr int AHEAD = 8;  // steps whose numbers are read before the first of them is computed

// The way of one unit of one agent through some steps: how far numbers of successive steps lie apart, of what the layer says,
// of means and of starts; and how far behind a gate its candidate lies.
struct Way {
  int steps;
  size_t said, candidate, means, starts;
};

// The means after each step, from the one before the first.
__device__ inline void find_means(const Way& way, const RealTensor& layer, const bool* begins, float mean, float* means) {
  for (int first = 0; first < way.steps; first += AHEAD) {
    float gates[AHEAD], candidates[AHEAD];
#pragma unroll
    for (int t = 0; t < AHEAD; ++t) {
      const size_t place = min(first + t, way.steps - 1) * way.said;
      gates[t] = layer.at(place);
      candidates[t] = layer.at(place + way.candidate);
    }
#pragma unroll
    for (int t = 0; t < AHEAD; ++t) {
      if (first + t >= way.steps) break;
      mean = mean_after(begins[(first + t) * way.starts] ? 0.0f : mean, candidates[t], sigmoid(gates[t]));
      means[(first + t) * way.means] = mean;
    }
  }
}

// Back through these steps, from the gradients of the means: writes those of what the layer says to `of_layer`, which may be the
// same numbers, and gives that of the mean before the first step. What later steps say of a mean goes back in `later`.
__device__ inline float through_means(const Way& way, const RealTensor& layer, const RealTensor& of_layer, const bool* begins,
                                      float before, const float* means, const float* gradients) {
  float later = 0.0f;
  for (int last = way.steps - 1; last >= 0; last -= AHEAD) {
    float gates[AHEAD], candidates[AHEAD], kept[AHEAD], own[AHEAD];
#pragma unroll
    for (int t = 0; t < AHEAD; ++t) {
      const size_t step = max(last - t, 0);
      gates[t] = layer.at(step * way.said);
      candidates[t] = layer.at(step * way.said + way.candidate);
      own[t] = gradients[step * way.means];
      kept[t] = step > 0 ? means[(step - 1) * way.means] : before;
    }
#pragma unroll
    for (int t = 0; t < AHEAD; ++t) {
      if (last - t < 0) break;
      const bool is_first = begins[(last - t) * way.starts];
      const float z = sigmoid(gates[t]), gradient = later + own[t];
      const float of_gate = gradient * (candidates[t] - (is_first ? 0.0f : kept[t])) * ((1.0f - z) * z);
      of_layer.put((last - t) * way.said, of_gate);
      of_layer.put((last - t) * way.said + way.candidate, gradient * z);
      later = is_first ? 0.0f : (1.0f - z) * gradient;
    }
  }
  return later;
}
