// CUDA's header of 16-bit floats with 8 bits of exponent, __nv_bfloat16 and __nv_bfloat162, on a CPU.
#pragma once

#include "../cuda/mathematics.hpp"
#include "../cuda/narrow.hpp"
#include "../cuda/saturated.hpp"
#include "../cuda/vectors.hpp"

namespace ww {
static WW_INLINE uint16_t bfloat16_bits(float value) {
  const uint32_t bits = same_bits<uint32_t>(value);
  return value != value ? 0x7FFF : (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
static WW_INLINE float float_of_bfloat16(uint16_t bits) { return same_bits<float>((uint32_t)bits << 16); }
}  // namespace ww

#define WW_SIXTEEN __nv_bfloat16
#define WW_PAIR __nv_bfloat162
#define WW_JOIN(before, after) before##bfloat16##after
#define WW_JOIN_PAIR(before, after) WW_JOIN_BFLOAT16_PAIR(before, after)
#define WW_JOIN_BFLOAT16_PAIR(before, after) before##bfloat162##after
#define WW_HALVES_TO_PAIR __halves2bfloat162
#define WW_BITS(value) ww::bfloat16_bits(value)
#define WW_FLOAT(bits) ww::float_of_bfloat16(bits)
#define WW_NARROWED(value, towards) ww::narrowed<8, 7>(value, towards)
#define WW_INFINITE_BITS 0x7F80u
#include "../cuda/sixteen.hpp"

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001u)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7Fu)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80u)
