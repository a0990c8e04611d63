// CUDA's arithmetic and conversions with a rounding mode in the name: _rn to nearest, _rz towards zero, _ru up, _rd
// down. All but _rn set the processor's mode for one operation, so they are slow here; on a GPU they cost nothing.
#pragma once

#include <fenv.h>

#include "c_math.hpp"
#include "saturated.hpp"

namespace ww {

// Calls an operation in a rounding mode. What passes through a volatile is neither moved across the change nor computed
// by the compiler.
template <int mode, class Operation, class... Number>
static WW_INLINE auto in_mode(Operation operation, Number... numbers) {
  const auto apply = [&](const volatile Number&... held) {
    fesetround(mode);
    volatile auto result = operation((Number)held...);
    fesetround(FE_TONEAREST);
    return result;
  };
  return apply(numbers...);
}

}  // namespace ww

// ---- arithmetic ----------------------------------------------------------------------------------------------------
#define WW_ONE_MODE(type, name, suffix, mode, list, arguments, operation)                      \
  static WW_INLINE type name##_##suffix list {                                                 \
    return ww::in_mode<mode>([] list WW_MODE_INLINE { return operation; }, WW_UNPACK arguments); \
  }
#define WW_UNPACK(...) __VA_ARGS__
#define WW_MODE_INLINE
#define WW_ALL_MODES(type, name, list, arguments, operation)                     \
  static WW_INLINE type name##_rn list { return operation; }                     \
  WW_ONE_MODE(type, name, rz, FE_TOWARDZERO, list, arguments, operation)         \
  WW_ONE_MODE(type, name, ru, FE_UPWARD, list, arguments, operation)             \
  WW_ONE_MODE(type, name, rd, FE_DOWNWARD, list, arguments, operation)

WW_ALL_MODES(float, __fadd, (float a, float b), (a, b), a + b)
WW_ALL_MODES(float, __fsub, (float a, float b), (a, b), a - b)
WW_ALL_MODES(float, __fmul, (float a, float b), (a, b), a* b)
WW_ALL_MODES(float, __fdiv, (float a, float b), (a, b), a / b)
WW_ALL_MODES(float, __frcp, (float a), (a), 1.0f / a)
WW_ALL_MODES(float, __fsqrt, (float a), (a), sqrtf(a))
WW_ALL_MODES(float, __fmaf, (float a, float b, float c), (a, b, c), fmaf(a, b, c))
WW_ALL_MODES(float, __fmaf_ieee, (float a, float b, float c), (a, b, c), fmaf(a, b, c))
WW_ALL_MODES(double, __dadd, (double a, double b), (a, b), a + b)
WW_ALL_MODES(double, __dsub, (double a, double b), (a, b), a - b)
WW_ALL_MODES(double, __dmul, (double a, double b), (a, b), a* b)
WW_ALL_MODES(double, __ddiv, (double a, double b), (a, b), a / b)
WW_ALL_MODES(double, __drcp, (double a), (a), 1.0 / a)
WW_ALL_MODES(double, __dsqrt, (double a), (a), sqrt(a))
WW_ALL_MODES(double, __fma, (double a, double b, double c), (a, b, c), fma(a, b, c))

// ---- to a smaller float, and of a whole number ---------------------------------------------------------------------
WW_ALL_MODES(float, __double2float, (double a), (a), (float)a)
WW_ALL_MODES(float, __int2float, (int a), (a), (float)a)
WW_ALL_MODES(float, __uint2float, (unsigned a), (a), (float)a)
WW_ALL_MODES(float, __ll2float, (long long a), (a), (float)a)
WW_ALL_MODES(float, __ull2float, (unsigned long long a), (a), (float)a)
WW_ALL_MODES(double, __ll2double, (long long a), (a), (double)a)
WW_ALL_MODES(double, __ull2double, (unsigned long long a), (a), (double)a)
static WW_INLINE double __int2double_rn(int a) { return a; }
static WW_INLINE double __uint2double_rn(unsigned a) { return a; }
#undef WW_ALL_MODES
#undef WW_ONE_MODE
#undef WW_UNPACK
#undef WW_MODE_INLINE

// ---- to a whole number ---------------------------------------------------------------------------------------------
#define WW_TO_WHOLE(type, name, source, f)                                                               \
  static WW_INLINE type name##_rn(source a) { return ww::saturated<type>(__builtin_rint##f(a)); }        \
  static WW_INLINE type name##_rz(source a) { return ww::saturated<type>(__builtin_trunc##f(a)); }       \
  static WW_INLINE type name##_ru(source a) { return ww::saturated<type>(__builtin_ceil##f(a)); }        \
  static WW_INLINE type name##_rd(source a) { return ww::saturated<type>(__builtin_floor##f(a)); }
WW_TO_WHOLE(int, __float2int, float, f)
WW_TO_WHOLE(unsigned, __float2uint, float, f)
WW_TO_WHOLE(long long, __float2ll, float, f)
WW_TO_WHOLE(unsigned long long, __float2ull, float, f)
WW_TO_WHOLE(int, __double2int, double, )
WW_TO_WHOLE(unsigned, __double2uint, double, )
WW_TO_WHOLE(long long, __double2ll, double, )
WW_TO_WHOLE(unsigned long long, __double2ull, double, )
#undef WW_TO_WHOLE
