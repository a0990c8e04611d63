// Numbers of 16 bits, the dtype float16, for arrays that should take half the memory. They are only stored: a __half is
// made from a float and converts to one.
//
//   __half x = __float2half(0.1f);      rounds to nearest, ties to even; also x = 0.1f
//   float y = __half2float(x);          exact; also y = x
//
// This is CUDA's own header, cuda_fp16.h, with all its functions and operators, which round to 16 bits; a CPU has one that
// does the same. NVRTC without a toolkit has the part shown above, and refuses the rest.
#pragma once

#include "warpworld.cuh"

#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#else

#include "half_bits.cuh"

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
