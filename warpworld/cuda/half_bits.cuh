// Halves as bits, of floats and back: rounded to nearest, ties to even.
#pragma once

#include <stdint.h>

namespace ww {

constexpr uint32_t INFINITE = 0x7F800000u;      // as the bits of a float without its sign
constexpr uint32_t BEYOND_HALF = 0x47800000u;   // 65536
constexpr uint32_t LEAST_NORMAL = 0x38800000u;  // 2^-14, below which halves are multiples of 2^-24
constexpr uint32_t BIAS = 0x38000000u;          // by which exponents of floats exceed those of halves

static __device__ __forceinline__ uint16_t half_bits(float value) {
  const uint32_t bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
  // What is added to 0.5 is rounded to multiples of 2^-24.
  const uint32_t small = __float_as_uint(__uint_as_float(size < LEAST_NORMAL ? size : 0u) + 0.5f) - __float_as_uint(0.5f);
  const uint32_t normal = (size + 0xFFFu + (size >> 13 & 1u) - BIAS) >> 13;  // which is infinity from 65520 on
  const uint32_t large = size > INFINITE ? 0x7FFFu : 0x7C00u;
  return (uint16_t)(sign | (size < LEAST_NORMAL ? small : size < BEYOND_HALF ? normal : large));
}

static __device__ __forceinline__ float float_of_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, size = (uint32_t)(half & 0x7FFFu) << 13;
  const float finite = __uint_as_float(size) * 5.192296858534828e33f;  // 2^112, the difference of the exponents
  return __uint_as_float(sign | (size >= 0x0F800000u ? size | INFINITE : __float_as_uint(finite)));
}

}  // namespace ww
