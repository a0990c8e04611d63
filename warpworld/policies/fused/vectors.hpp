// Vectors of floats as wide as the processor's registers, and the functions of them that networks and losses need.
//
// GCC's and clang's vector extensions; intrinsics only where these have no words for it. Every function gives NaN where it
// is given NaN.
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace fused {

#if defined(__AVX512F__)
constexpr int lanes = 16, registers = 32;
#elif defined(__AVX__)
constexpr int lanes = 8, registers = 16;
#elif defined(__aarch64__)
constexpr int lanes = 4, registers = 32;
#else
constexpr int lanes = 4, registers = 16;
#endif

#define FUSED_INLINE static inline __attribute__((always_inline))
// Behind a lambda's parameters: its caller's vectors stay in registers.
#define FUSED_WITHIN __attribute__((always_inline))
// A loop of products of its own: among others it would not get all registers.
#define FUSED_ALONE static __attribute__((noinline))
#if defined(__clang__)
#define FUSED_UNROLL _Pragma("clang loop unroll(full)")
#else
#define FUSED_UNROLL _Pragma("GCC unroll 16")
#endif

typedef float Vector __attribute__((vector_size(lanes * 4)));
typedef float UnalignedVector __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef int32_t Mask __attribute__((vector_size(lanes * 4)));  // all bits of a lane, or none: what a comparison gives
typedef uint32_t Bits __attribute__((vector_size(lanes * 4)));

FUSED_INLINE Vector load(const float* from) { return *(const UnalignedVector*)from; }
FUSED_INLINE void store(float* to, Vector value) { *(UnalignedVector*)to = value; }
FUSED_INLINE Vector all(float value) { return value - (Vector){}; }
FUSED_INLINE Bits bits_of(Vector x) { return (Bits)x; }

FUSED_INLINE Vector select(Mask condition, Vector yes, Vector no) { return condition ? yes : no; }
// Each is one instruction, and gives b where one of them is NaN; of the comparison GCC makes two for AVX-512.
#if defined(__AVX512F__)
FUSED_INLINE Vector larger(Vector a, Vector b) { return (Vector)_mm512_max_ps((__m512)a, (__m512)b); }
FUSED_INLINE Vector smaller(Vector a, Vector b) { return (Vector)_mm512_min_ps((__m512)a, (__m512)b); }
#else
FUSED_INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }
FUSED_INLINE Vector smaller(Vector a, Vector b) { return a < b ? a : b; }
#endif
// x within [low, high]; NaN stays NaN.
FUSED_INLINE Vector clamp(Vector x, Vector low, Vector high) { return smaller(high, larger(low, x)); }

// Sum over the lanes, by halves.
FUSED_INLINE float sum(Vector x) {
  float part[lanes];
  memcpy(part, &x, sizeof part);
  FUSED_UNROLL
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

// The sum over the lanes of each of as many vectors as there are lanes.
#if defined(__AVX512F__)
FUSED_INLINE Vector sums(const Vector (&x)[lanes]) {
  Vector few[4];  // in each quarter, what four vectors have there: one sum of each
  FUSED_UNROLL for (int i = 0; i < 4; i++) {
    __m512 half[2];
    FUSED_UNROLL for (int j = 0; j < 2; j++) {
      const __m512 a = (__m512)x[4 * i + 2 * j], b = (__m512)x[4 * i + 2 * j + 1];
      half[j] = _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b);
    }
    const __m512d a = (__m512d)half[0], b = (__m512d)half[1];
    few[i] = (Vector)_mm512_unpacklo_pd(a, b) + (Vector)_mm512_unpackhi_pd(a, b);
  }
  // Even quarters of two vectors, and odd ones.
  const auto paired = [](Vector a, Vector b) {
    return (Vector)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0x88) +
           (Vector)_mm512_shuffle_f32x4((__m512)a, (__m512)b, 0xDD);
  };
  return paired(paired(few[0], few[1]), paired(few[2], few[3]));
}
#else
FUSED_INLINE Vector sums(const Vector (&x)[lanes]) {
  Vector all_sums = {};
  for (int i = 0; i < lanes; i++) all_sums[i] = sum(x[i]);
  return all_sums;
}
#endif

FUSED_INLINE Vector square_root(Vector x) {
  FUSED_UNROLL
  for (int i = 0; i < lanes; i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

// The first n numbers, and zeros.
FUSED_INLINE Vector load_part(const float* from, int n) {
  if (n >= lanes) return load(from);
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);
#endif
  Vector part{};
  memcpy(&part, from, n * sizeof(float));
  return part;
}

FUSED_INLINE void store_part(float* to, Vector value, int n) {
  if (n >= lanes) return store(to, value);
#if defined(__AVX512F__)
  return _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)value);
#endif
  memcpy(to, &value, n * sizeof(float));
}

FUSED_INLINE int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

// x * P(x^2) / Q(x^2), fitted to tanh on [0, 8] for the least relative error (6e-9, below that of float); beyond 8,
// where 1 - tanh(x) is less than 2.3e-7, it stays as it is.
FUSED_INLINE Vector tanh(Vector x) {
  x = clamp(x, all(-8.0f), all(8.0f));
  const Vector y = x * x;
  Vector p = y * 1.52304115e-08f + 2.18946573e-05f;
  p = p * y + 3.57159774e-03f;
  p = p * y + 1.34444977e-01f;
  p = p * y + 9.99999994e-01f;
  Vector q = y * 8.52244408e-07f + 3.41129156e-04f;
  q = q * y + 2.61644418e-02f;
  q = q * y + 4.67778251e-01f;
  q = q * y + 1.0f;
  return x * p / q;
}

// x * 2^n for a whole n, rounded once where that is denormal, and infinite where it is too large.
#if defined(__AVX512F__)
FUSED_INLINE Vector scaled(Vector x, Vector n, Mask) { return (Vector)_mm512_scalef_ps((__m512)x, (__m512)n); }
#else
// n in [-126, 127], by writing the exponent.
FUSED_INLINE Vector power_of_two(Mask n) { return (Vector)((Bits)(n + 127) << 23); }
// In two factors, neither of which is denormal or infinite.
FUSED_INLINE Vector scaled(Vector x, Vector, Mask n) {
  const Mask half = n >> 1;
  return x * power_of_two(half) * power_of_two(n - half);
}
#endif

// x = n ln 2 + r; exp(r) by its series to r^7, whose next term is 5e-9 at most.
FUSED_INLINE Vector exp(Vector x) {
  const Vector shift = all(12582912.0f);  // 1.5 * 2^23: what is added to it is rounded to an integer
  x = clamp(x, all(-104.0f), all(89.0f));
  const Vector shifted = x * 1.44269504f + shift, n = shifted - shift;
  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts, the first of few bits
  Vector p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return select(x == x, scaled(p, n, (Mask)(bits_of(shifted) - bits_of(shift))), x);
}

FUSED_INLINE Vector sigmoid(Vector x) { return 1.0f / (1.0f + exp(-x)); }

// For normal, positive, finite x. x = m 2^n with m in [sqrt(1/2), sqrt(2)); log(m) = 2 artanh(s), s = (m - 1) / (m + 1),
// by its series to s^9, whose next term is 1e-9 at most.
FUSED_INLINE Vector log(Vector x) {
  const Bits sqrt_half = bits_of(all(0.70710678f)), offset = bits_of(x) - sqrt_half;
  const Mask n = (Mask)offset >> 23;
  const Vector m = (Vector)((offset & 0x7FFFFFu) + sqrt_half);
  const Vector s = (m - 1.0f) / (m + 1.0f), y = s * s;
  Vector p = y * (1.0f / 9) + 1.0f / 7;
  p = p * y + 1.0f / 5;
  p = p * y + 1.0f / 3;
  const Vector exponent = __builtin_convertvector(n, Vector);
  const Vector value = exponent * 0.693359375f + (2.0f * s + (2.0f * s * y * p - exponent * 2.12194440e-4f));
  return select(x == x, value, x);
}

}  // namespace fused
