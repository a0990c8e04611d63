// Numbers as their bits, and bits as numbers.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../fiber.hpp"

namespace ww {
template <class To, class From>
static WW_INLINE To same_bits(From value) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
}  // namespace ww

static WW_INLINE float __int_as_float(int bits) { return ww::same_bits<float>(bits); }
static WW_INLINE int __float_as_int(float value) { return ww::same_bits<int>(value); }
static WW_INLINE float __uint_as_float(unsigned bits) { return ww::same_bits<float>(bits); }
static WW_INLINE unsigned __float_as_uint(float value) { return ww::same_bits<unsigned>(value); }
static WW_INLINE long long __double_as_longlong(double value) { return ww::same_bits<long long>(value); }
static WW_INLINE double __longlong_as_double(long long bits) { return ww::same_bits<double>(bits); }
static WW_INLINE int __double2hiint(double value) { return (int)(__double_as_longlong(value) >> 32); }
static WW_INLINE int __double2loint(double value) { return (int)__double_as_longlong(value); }
static WW_INLINE double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((uint64_t)(uint32_t)high << 32 | (uint32_t)low));
}
