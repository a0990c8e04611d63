// CUDA's mathematical functions that no C library has: lengths, angles in half turns, the normal distribution, modified
// Bessel functions. Those of float are computed in double and rounded once. Only in files that mention one.
#pragma once

#include "c_math.hpp"
#include "mathematics.hpp"

// ---- lengths -------------------------------------------------------------------------------------------------------
WW_INLINE double rhypot(double a, double b) { return 1.0 / hypot(a, b); }
WW_INLINE float rhypotf(float a, float b) { return (float)(1.0 / hypot((double)a, (double)b)); }

namespace ww {
// Length of a vector, as hypot: no square is too large or too small, and infinity wins over NaN.
template <class Number>
static WW_INLINE double length(int count, const Number* numbers) {
  double largest = 0.0;
  bool unknown = false;
  for (int i = 0; i < count; i++) {
    const double size = fabs((double)numbers[i]);
    if (size > largest) largest = size;
    unknown |= size != size;
  }
  if (largest == (double)INFINITY) return largest;
  if (unknown) return (double)NAN;
  if (largest == 0.0) return 0.0;
  const int exponent = ilogb(largest);
  double sum = 0.0;
  for (int i = 0; i < count; i++) {
    const double scaled = scalbn((double)numbers[i], -exponent);
    sum += scaled * scaled;
  }
  return scalbn(sqrt(sum), exponent);
}
}  // namespace ww
WW_INLINE double norm(int count, const double* x) { return ww::length(count, x); }
WW_INLINE double rnorm(int count, const double* x) { return 1.0 / ww::length(count, x); }
WW_INLINE float normf(int count, const float* x) { return (float)ww::length(count, x); }
WW_INLINE float rnormf(int count, const float* x) { return (float)(1.0 / ww::length(count, x)); }
#define WW_NORM(type, n, f, list, ...)                                    \
  WW_INLINE type norm##n##d##f list {                                     \
    const type numbers[] = {__VA_ARGS__};                                 \
    return (type)ww::length(n, numbers);                                  \
  }                                                                       \
  WW_INLINE type rnorm##n##d##f list {                                    \
    const type numbers[] = {__VA_ARGS__};                                 \
    return (type)(1.0 / ww::length(n, numbers));                          \
  }
WW_NORM(double, 3, , (double a, double b, double c), a, b, c)
WW_NORM(double, 4, , (double a, double b, double c, double d), a, b, c, d)
WW_NORM(float, 3, f, (float a, float b, float c), a, b, c)
WW_NORM(float, 4, f, (float a, float b, float c, float d), a, b, c, d)
#undef WW_NORM

// ---- angles in half turns ------------------------------------------------------------------------------------------
WW_INLINE void sincospi(double x, double* sine, double* cosine) {
  const double pi = 3.14159265358979323846;
  const double turned = fabs(x) < 9007199254740992.0 ? x - 2.0 * rint(0.5 * x) : x - x;  // -1 .. 1; beyond, even numbers
  const double quarter = rint(2.0 * turned), rest = turned - 0.5 * quarter;
  const double s = sin(pi * rest), c = cos(pi * rest);
  switch ((int)quarter & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s + 0.0; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s + 0.0; break;
  }
  if (*sine == 0.0) *sine = copysign(0.0, x);
  if (x != x || fabs(x) == (double)INFINITY) *sine = *cosine = (double)NAN;
}
WW_INLINE double sinpi(double x) {
  double sine, cosine;
  sincospi(x, &sine, &cosine);
  return sine;
}
WW_INLINE double cospi(double x) {
  double sine, cosine;
  sincospi(x, &sine, &cosine);
  return cosine;
}
WW_INLINE float sinpif(float x) { return (float)sinpi((double)x); }
WW_INLINE float cospif(float x) { return (float)cospi((double)x); }
WW_INLINE void sincospif(float x, float* sine, float* cosine) {
  double s, c;
  sincospi((double)x, &s, &c);
  *sine = (float)s, *cosine = (float)c;
}

// ---- the normal distribution ---------------------------------------------------------------------------------------
namespace ww {

// Quantile of the normal distribution (Wichura 1988, algorithm AS 241): of the probability 0.5 + `centre`, where `tail`
// is the smaller of that probability and its complement, so that neither end loses digits.
__attribute__((noinline)) static inline double normal_quantile(double centre, double tail) {
  const auto ratio = [](double r, const double (&a)[8], const double (&b)[8]) {
    double above = a[7], below = b[7];
    for (int i = 6; i >= 0; i--) above = above * r + a[i], below = below * r + b[i];
    return above / below;
  };
  static constexpr double A[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                  1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double B[8] = {1.0,                      4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                  5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                  2.8729085735721942674e+4, 5.2264952788528545610e+3};
  static constexpr double C[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,  5.76949722146069140550e0,
                                  3.64784832476320460504e0,  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double D[8] = {1.0,                       2.05319162663775882187e0,  1.67638483018380384940e0,
                                  6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                  5.47593808499534494600e-4, 1.05075007164441684324e-9};
  static constexpr double E[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double F[8] = {1.0,                       5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                  1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                  1.42151175831644588870e-7, 2.04426310338993978564e-15};
  if (fabs(centre) <= 0.425) return centre * ratio(0.180625 - centre * centre, A, B);
  if (!(tail > 0.0)) return tail == 0.0 ? copysign((double)INFINITY, centre) : (double)NAN;
  const double r = sqrt(-log(tail));
  return copysign(r <= 5.0 ? ratio(r - 1.6, C, D) : ratio(r - 5.0, E, F), centre);
}

constexpr double HALF_ROOT = 0.70710678118654752440, HALF_ROOT_REST = -4.8336466567264565e-17;  // of 2

}  // namespace ww

WW_INLINE double erfinv(double x) {
  if (fabs(x) < 1e-7) return x * 0.88622692545275801365;  // half the root of pi
  return ww::normal_quantile(0.5 * x, 0.5 * (1.0 - fabs(x))) * ww::HALF_ROOT;
}
WW_INLINE double erfcinv(double x) {
  return ww::normal_quantile(0.5 * (1.0 - x), x < 1.0 ? 0.5 * x : 0.5 * (2.0 - x)) * ww::HALF_ROOT;
}
WW_INLINE double normcdfinv(double x) { return ww::normal_quantile(x - 0.5, x < 0.5 ? x : 1.0 - x); }

// erfc(x) exp(x * x), which has numbers to say where erfc has none left.
WW_INLINE double erfcx(double x) {
  if (x > 25.0) {
    const double y = 0.5 / (x * x);
    double series = 1.0;
    for (int k = 15; k > 0; k -= 2) series = 1.0 - k * y * series;
    return 0.56418958354775628695 / x * series;
  }
  const double square = x * x, rest = fma(x, x, -square);
  const double grown = exp(square) * erfc(x);
  return square < 700.0 ? grown + grown * rest : grown;
}
WW_INLINE double normcdf(double x) {
  const double y = -x * ww::HALF_ROOT;
  if (fabs(x) > 39.0) return 0.5 * erfc(y);
  const double rest = fma(-x, ww::HALF_ROOT, -y) - x * ww::HALF_ROOT_REST;
  return 0.5 * (erfc(y) - rest * 1.12837916709551257390 * exp(-y * y));
}

// ---- modified Bessel functions: the power series, and for large x the asymptotic one -------------------------------
namespace ww {
__attribute__((noinline)) static inline double bessel_i(int order, double x) {
  const double size = fabs(x);
  long double term = order == 0 ? 1.0 : 0.5 * size, sum = term;
  if (size < 30.0) {
    for (int k = 1; k < 200 && term > 1e-18 * sum; k++) sum += term *= 0.25L * size * size / ((double)k * (k + order));
  } else {
    if (size == (double)INFINITY) return order == 0 ? size : x;
    term = sum = 1.0;
    const double of_order = 4.0 * order * order;
    for (int k = 1; k < 60 && fabsl(term) > 1e-18; k++)
      sum += term *= -(of_order - (2.0 * k - 1.0) * (2.0 * k - 1.0)) / (k * 8.0 * size);
    const double root = exp(0.5 * size);
    sum = root * (sum * root / sqrt(6.28318530717958647693 * size));
  }
  return order == 1 ? copysign((double)sum, x) : (double)sum;
}
}  // namespace ww
WW_INLINE double cyl_bessel_i0(double x) { return x != x ? x : ww::bessel_i(0, x); }
WW_INLINE double cyl_bessel_i1(double x) { return x != x ? x : ww::bessel_i(1, x); }

// ---- the same of float, also under names without an f --------------------------------------------------------------
#define WW_OF_FLOAT(name)                                            \
  WW_INLINE float name##f(float x) { return (float)name((double)x); } \
  WW_OVERLOAD(name)
WW_OF_FLOAT(erfinv)
WW_OF_FLOAT(erfcinv)
WW_OF_FLOAT(normcdfinv)
WW_OF_FLOAT(erfcx)
WW_OF_FLOAT(normcdf)
WW_OF_FLOAT(cyl_bessel_i0)
WW_OF_FLOAT(cyl_bessel_i1)
WW_OVERLOAD(sinpi)
WW_OVERLOAD(cospi)
static WW_INLINE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
#undef WW_OF_FLOAT
