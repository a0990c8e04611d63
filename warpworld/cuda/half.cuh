// Numbers of 16 bits, the dtype float16, for arrays that should take half the memory. They are only stored: a __half is
// made from a float and converts to one.
//
//   __half x = __float2half(0.1f);      rounds to nearest, ties to even; also x = 0.1f
//   float y = __half2float(x);          exact; also y = x
//
// This is CUDA's own header where there is one. A CPU, and NVRTC without a toolkit, offer the part shown above. They
// refuse what CUDA refuses (x + 1.0f), and what CUDA would round to 16 bits and they would not: x * x is a half there.
#pragma once

#include "warpworld.cuh"

#if defined(__CUDACC__) && __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#else

namespace ww {

constexpr uint32_t INFINITE = 0x7F800000u;      // as the bits of a float without its sign
constexpr uint32_t BEYOND_HALF = 0x47800000u;   // 65536
constexpr uint32_t LEAST_NORMAL = 0x38800000u;  // 2^-14, below which halves are multiples of 2^-24
constexpr uint32_t BIAS = 0x38000000u;          // by which exponents of floats exceed those of halves

WW_FUNCTION uint16_t half_bits(float value) {
  const uint32_t bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
  // What is added to 0.5 is rounded to multiples of 2^-24.
  const uint32_t small = __float_as_uint(__uint_as_float(size < LEAST_NORMAL ? size : 0u) + 0.5f) - __float_as_uint(0.5f);
  const uint32_t normal = (size + 0xFFFu + (size >> 13 & 1u) - BIAS) >> 13;  // which is infinity from 65520 on
  const uint32_t large = size > INFINITE ? 0x7FFFu : 0x7C00u;
  return (uint16_t)(sign | (size < LEAST_NORMAL ? small : size < BEYOND_HALF ? normal : large));
}

WW_FUNCTION float float_of_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, size = (uint32_t)(half & 0x7FFFu) << 13;
  const float finite = __uint_as_float(size) * 5.192296858534828e33f;  // 2^112, the difference of the exponents
  return __uint_as_float(sign | (size >= 0x0F800000u ? size | INFINITE : __float_as_uint(finite)));
}

}  // namespace ww

// A half has no operators. They are deleted, since it would become a float by itself for those of floats.
#define WW_NOT_OF_HALVES(OPERATOR)                           \
  friend void operator OPERATOR(__half, __half) = delete;    \
  template <class Other>                                     \
  friend void operator OPERATOR(__half, Other) = delete;     \
  template <class Other>                                     \
  friend void operator OPERATOR(Other, __half) = delete;

struct alignas(2) __half {
  uint16_t bits;

  __half() = default;
  WW_METHOD __half(float value) : bits(ww::half_bits(value)) {}
  WW_METHOD __half(int value) : __half((float)value) {}  // what a float rounds is beyond halves
  WW_METHOD __half(unsigned value) : __half((float)value) {}
  __half(double value) = delete;  // which CUDA rounds once, not to a float first
  WW_METHOD operator float() const { return ww::float_of_half(bits); }

  void operator-() const = delete;
  void operator+() const = delete;
  WW_NOT_OF_HALVES(+)
  WW_NOT_OF_HALVES(-)
  WW_NOT_OF_HALVES(*)
  WW_NOT_OF_HALVES(/)
  WW_NOT_OF_HALVES(+=)
  WW_NOT_OF_HALVES(-=)
  WW_NOT_OF_HALVES(*=)
  WW_NOT_OF_HALVES(/=)
  WW_NOT_OF_HALVES(==)
  WW_NOT_OF_HALVES(!=)
  WW_NOT_OF_HALVES(<)
  WW_NOT_OF_HALVES(>)
  WW_NOT_OF_HALVES(<=)
  WW_NOT_OF_HALVES(>=)
};
#undef WW_NOT_OF_HALVES
using half = __half;

WW_FUNCTION __half __float2half(float value) { return __half(value); }
WW_FUNCTION float __half2float(__half value) { return value; }

#endif
