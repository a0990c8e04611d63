// min and max of every pair of types, as CUDA has them.
#pragma once

#include "../fiber.hpp"
#include "c_math.hpp"

#if defined(__x86_64__)
// The C library's functions as a few instructions, in place of calls that keep loops from being vectors. Of two zeros the
// second is returned, as the library does; NaN is returned only if both are.
#define WW_EXTREME(T, name, is_first) \
  extern inline __attribute__((gnu_inline, always_inline)) T name(T a, T b) noexcept { return (is_first) | (b != b) ? a : b; }
extern "C" {
WW_EXTREME(float, fminf, a < b)
WW_EXTREME(float, fmaxf, a > b)
WW_EXTREME(double, fmin, a < b)
WW_EXTREME(double, fmax, a > b)
}
#undef WW_EXTREME
#endif

#define WW_MIN_MAX(A, B, R)                                                                      \
  static WW_INLINE R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }                         \
  static WW_INLINE R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
WW_MIN_MAX(int, int, int)
WW_MIN_MAX(unsigned, unsigned, unsigned)
WW_MIN_MAX(int, unsigned, unsigned)
WW_MIN_MAX(unsigned, int, unsigned)
WW_MIN_MAX(long, long, long)
WW_MIN_MAX(unsigned long, unsigned long, unsigned long)
WW_MIN_MAX(long, unsigned long, unsigned long)
WW_MIN_MAX(unsigned long, long, unsigned long)
WW_MIN_MAX(long long, long long, long long)
WW_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WW_MIN_MAX(long long, unsigned long long, unsigned long long)
WW_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef WW_MIN_MAX
#define WW_MIN_MAX(A, B, R, suffix)                                                              \
  static WW_INLINE R min(A a, B b) { return fmin##suffix((R)a, (R)b); }                          \
  static WW_INLINE R max(A a, B b) { return fmax##suffix((R)a, (R)b); }
WW_MIN_MAX(float, float, float, f)
WW_MIN_MAX(double, double, double, )
WW_MIN_MAX(float, double, double, )
WW_MIN_MAX(double, float, double, )
#undef WW_MIN_MAX

static WW_INLINE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
static WW_INLINE unsigned umax(unsigned a, unsigned b) { return max(a, b); }
static WW_INLINE long long llmin(long long a, long long b) { return min(a, b); }
static WW_INLINE long long llmax(long long a, long long b) { return max(a, b); }
static WW_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
static WW_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
