// CUDA's header of 16-bit floats with 5 bits of exponent, __half and __half2, on a CPU.
#pragma once

#include "../../half_bits.cuh"
#include "../cuda/mathematics.hpp"
#include "../cuda/narrow.hpp"
#include "../cuda/saturated.hpp"
#include "../cuda/vectors.hpp"

#define WW_SIXTEEN __half
#define WW_PAIR __half2
#define WW_JOIN(before, after) before##half##after
#define WW_JOIN_PAIR(before, after) WW_JOIN_HALF_PAIR(before, after)
#define WW_JOIN_HALF_PAIR(before, after) before##half2##after
#define WW_HALVES_TO_PAIR __halves2half2
#define WW_BITS(value) ww::half_bits(value)
#define WW_FLOAT(bits) ww::float_of_half(bits)
#define WW_NARROWED(value, towards) ww::narrowed<5, 10>(value, towards)
#define WW_INFINITE_BITS 0x7C00u
#include "../cuda/sixteen.hpp"

using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00u)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFu)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000u)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000u)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00u)
