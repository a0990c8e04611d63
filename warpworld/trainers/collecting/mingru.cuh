// What the kernels of a minimal GRU (policies/layers/cells.py, MinGRU) share.
//
// Tensors are torch's own and lie in no store, so that parameters are their addresses. They are contiguous, and all lanes of
// all envs share their rows.
#pragma once

#include "replay.cuh"

__device__ inline uint16_t bfloat16_bits(float number) {
  const uint32_t bits = __float_as_uint(number);
  if ((bits & 0x7FFFFFFFu) > INFINITE) return (uint16_t)(bits >> 16 | 0x40u);  // NaN stays NaN
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

__device__ inline float of_bfloat16(uint16_t bits) { return __uint_as_float((uint32_t)bits << 16); }

__device__ inline float rounded(float number, bool reduced) {
  return reduced ? of_bfloat16(bfloat16_bits(number)) : number;
}

// A tensor of float or bfloat16.
struct RealTensor {
  int64_t address;
  bool reduced;

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

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// (1 - z) * before + z * candidate, as torch.lerp has it.
__device__ inline float mean_after(float before, float candidate, float z) {
  const float apart = candidate - before;
  return z < 0.5f ? before + z * apart : candidate - apart * (1.0f - z);
}
