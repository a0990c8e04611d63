// Math functions that are as exact as a GPU's: half of all results are moved by one unit in the last place, up or down,
// by a function of STAND_IN_LIBM_SEED and of the arguments. Square roots and divisions are exact on a GPU and stay so.
#pragma once

#include "cpu/cuda_words.hpp"
#include "perturbation.hpp"

namespace stand_in {

static inline bool is_plain(float value) { return value != 0.0f && value - value == 0.0f; }

// Zeros, infinities and what functions make of them are defined exactly, as exp(0) = 1 is, and are kept.
template <class Function, class... Floats>
static inline float moved(Function function, Floats... arguments) {
  const float result = function((float)arguments...);
  if (!(is_plain(result) && ... && is_plain((float)arguments))) return result;
  uint64_t hash = mixed(STAND_IN_LIBM_SEED + __float_as_uint(result));
  ((hash = mixed(hash ^ __float_as_uint((float)arguments))), ...);
  if (hash & 1) return result;
  return __uint_as_float(__float_as_uint(result) + (hash & 2 ? 1u : -1u));
}

}  // namespace stand_in

// A macro's own name is not replaced again within it.
#define STAND_IN_MOVED(function, ...) stand_in::moved([](auto... x) { return function(x...); }, __VA_ARGS__)
#define sinf(...) STAND_IN_MOVED(sinf, __VA_ARGS__)
#define cosf(...) STAND_IN_MOVED(cosf, __VA_ARGS__)
#define tanf(...) STAND_IN_MOVED(tanf, __VA_ARGS__)
#define atan2f(...) STAND_IN_MOVED(atan2f, __VA_ARGS__)
#define tanhf(...) STAND_IN_MOVED(tanhf, __VA_ARGS__)
#define expf(...) STAND_IN_MOVED(expf, __VA_ARGS__)
#define logf(...) STAND_IN_MOVED(logf, __VA_ARGS__)
#define log1pf(...) STAND_IN_MOVED(log1pf, __VA_ARGS__)
#define powf(...) STAND_IN_MOVED(powf, __VA_ARGS__)
#define rsqrtf(...) STAND_IN_MOVED(rsqrtf, __VA_ARGS__)
#define __sinf(...) STAND_IN_MOVED(__sinf, __VA_ARGS__)
#define __cosf(...) STAND_IN_MOVED(__cosf, __VA_ARGS__)
#define __expf(...) STAND_IN_MOVED(__expf, __VA_ARGS__)
#define __logf(...) STAND_IN_MOVED(__logf, __VA_ARGS__)
#define __powf(...) STAND_IN_MOVED(__powf, __VA_ARGS__)
#define __fdividef(...) STAND_IN_MOVED(__fdividef, __VA_ARGS__)
