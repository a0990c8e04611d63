// CUDA's mathematical functions that the C library does not have, or has under another name. Those of float are computed
// in double and rounded once.
//
// None is static: C libraries declare more of them with each version (rsqrtf since glibc 2.42), and some with two
// underscores for ever (__sincosf), so that only a definition keeps a kernel from a symbol that no library has.
#pragma once

#include "bits.hpp"
#include "c_math.hpp"

// ---- the quick ones of the hardware: as exact here as the others, but for what CUDA's reference states ---------------
namespace ww {
// A number too small for a full significand becomes 0 with its sign.
static WW_INLINE float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }
}  // namespace ww

WW_INLINE float fdividef(float a, float b) { return a / b; }
WW_INLINE float __fdividef(float a, float b) {
  const bool has_no_reciprocal = fabsf(b) > 0x1p126f && fabsf(b) < INFINITY;  // it would be flushed to 0
  return has_no_reciprocal ? a * copysignf(0.0f, b) : a / b;
}
WW_INLINE float __sinf(float x) { return ww::flushed(sinf(x)); }
WW_INLINE float __cosf(float x) { return cosf(x); }
WW_INLINE float __tanf(float x) { return ww::flushed(tanf(x)); }
WW_INLINE float __tanhf(float x) { return tanhf(x); }
WW_INLINE float __expf(float x) { return expf(x); }
WW_INLINE float __exp10f(float x) { return exp10f(x); }
WW_INLINE float __logf(float x) { return logf(x); }
WW_INLINE float __log2f(float x) { return log2f(x); }
WW_INLINE float __log10f(float x) { return log10f(x); }
WW_INLINE float __powf(float x, float y) { return powf(x, y); }
WW_INLINE void __sincosf(float x, float* sine, float* cosine) {
  sincosf(x, sine, cosine);
  *sine = ww::flushed(*sine);
}
WW_INLINE float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
WW_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// ---- roots ---------------------------------------------------------------------------------------------------------
WW_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
WW_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
WW_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
WW_INLINE float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }

// ---- Bessel functions of a negative order, which C libraries have and CUDA does not ---------------------------------
// Each calls the library's for a wider type: a function of its own name would call itself.
#ifdef __GLIBC__
WW_INLINE double jn(int n, double x) { return n < 0 ? (double)NAN : (double)jnl(n, (long double)x); }
WW_INLINE double yn(int n, double x) { return n < 0 ? (double)NAN : (double)ynl(n, (long double)x); }
#endif
WW_INLINE float jnf(int n, float x) { return n < 0 ? NAN : (float)jn(n, (double)x); }
WW_INLINE float ynf(int n, float x) { return n < 0 ? NAN : (float)yn(n, (double)x); }

// ---- CUDA's overloads for float of names without an f --------------------------------------------------------------
#define WW_OVERLOAD(name) static WW_INLINE float name(float x) { return name##f(x); }
WW_OVERLOAD(rsqrt)
WW_OVERLOAD(rcbrt)
WW_OVERLOAD(exp10)
WW_OVERLOAD(j0)
WW_OVERLOAD(j1)
WW_OVERLOAD(y0)
WW_OVERLOAD(y1)
static WW_INLINE float jn(int n, float x) { return jnf(n, x); }
static WW_INLINE float yn(int n, float x) { return ynf(n, x); }
static WW_INLINE void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
static WW_INLINE double copysign(double size, float sign) { return copysign(size, (double)sign); }
static WW_INLINE float copysign(float size, double sign) { return copysignf(size, (float)sign); }
