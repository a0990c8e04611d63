// Numbers of bfloat16: the upper half of a float, rounded to the nearest, halves to even.
#pragma once

#include <warpworld.cuh>

__device__ inline uint16_t bfloat16_bits(float number) {
  const uint32_t bits = __float_as_uint(number);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40u);  // NaN stays NaN
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

__device__ inline float of_bfloat16(uint16_t bits) { return __uint_as_float((uint32_t)bits << 16); }

// The nearest number of bfloat16, where `reduced`.
__device__ inline float rounded(float number, bool reduced) {
  return reduced ? of_bfloat16(bfloat16_bits(number)) : number;
}
