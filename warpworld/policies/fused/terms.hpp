// What products are made of: floats, or pairs of bfloat16 in place of a float, whose products are added up in float.
//
// A pair's first number lies in the lower half of its 32 bits. Numbers are rounded to the nearest, to the even one of
// two that are as near; NaN stays NaN.
#pragma once

#include "vectors.hpp"

#if defined(__AVX512BF16__) && defined(__AVX512BW__)
#define FUSED_PAIRS 1
#include <immintrin.h>
#else
#define FUSED_PAIRS 0
#endif

namespace fused {

// Whether the processor multiplies pairs; elsewhere they give the same numbers, but take longer than floats.
constexpr bool has_pairs = FUSED_PAIRS;

struct Floats {
  static constexpr bool in_pairs = false;
  FUSED_INLINE Vector everywhere(const float* from) { return all(*from); }
  FUSED_INLINE Vector add(Vector sum, Vector a, Vector b) { return sum + a * b; }
};

FUSED_INLINE uint16_t rounded(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (x != x ? bits | 0x400000u : bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
}

#if FUSED_PAIRS
struct Pairs {
  static constexpr bool in_pairs = true;
  FUSED_INLINE Vector everywhere(const float* from) {
    int pair;
    memcpy(&pair, from, sizeof pair);
    return (Vector)_mm512_set1_epi32(pair);
  }
  FUSED_INLINE Vector add(Vector sum, Vector a, Vector b) {
    return (Vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
  }
};

// Pairs of neighbours: the first half of them from `low`, the other from `high`.
FUSED_INLINE Vector pairs_along(Vector low, Vector high) {
  return (Vector)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}

// Pairs of a number of one vector and that of another one in the same lane.
FUSED_INLINE Vector pairs_across(Vector first, Vector second) {
  alignas(64) static constexpr int16_t order[] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return (Vector)_mm512_permutexvar_epi16(*(const __m512i*)order, (__m512i)pairs_along(first, second));
}

// The first n numbers, and zeros; n may be anything.
FUSED_INLINE Vector load_some(const float* from, int n) {
  if (n >= lanes) return load(from);
  return n <= 0 ? Vector{} : (Vector)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);
}
#else
FUSED_INLINE Bits rounded(Vector x) {
  const Bits bits = bits_of(x);
  return bits_of(select(x == x, (Vector)(bits + 0x7FFFu + (bits >> 16 & 1u)), (Vector)(bits | 0x400000u))) >> 16;
}

struct Pairs {
  static constexpr bool in_pairs = true;
  FUSED_INLINE Vector everywhere(const float* from) {
    uint32_t pair;
    memcpy(&pair, from, sizeof pair);
    return (Vector)(pair - (Bits){});
  }
  FUSED_INLINE Vector low(Vector pairs) { return (Vector)(bits_of(pairs) << 16); }
  FUSED_INLINE Vector high(Vector pairs) { return (Vector)(bits_of(pairs) & 0xFFFF0000u); }
  FUSED_INLINE Vector add(Vector sum, Vector a, Vector b) { return sum + high(a) * high(b) + low(a) * low(b); }
};

FUSED_INLINE Vector pairs_across(Vector first, Vector second) {
  return (Vector)(rounded(first) | rounded(second) << 16);
}

FUSED_INLINE Vector pairs_along(Vector low, Vector high) {
  float numbers[2 * lanes];
  uint16_t halves[2 * lanes];
  memcpy(numbers, &low, sizeof low);
  memcpy(numbers + lanes, &high, sizeof high);
  for (int i = 0; i < 2 * lanes; i++) halves[i] = rounded(numbers[i]);
  memcpy(&low, halves, sizeof low);
  return low;
}

FUSED_INLINE Vector load_some(const float* from, int n) { return n <= 0 ? Vector{} : load_part(from, n); }
#endif

constexpr int pairs_of(int count) { return (count + 1) / 2; }

// Puts each row's numbers behind each other in pairs: [rows][pairs_of(columns)], and up to a vector behind them.
FUSED_INLINE void pair_columns(int rows, const float* x, int stride, int columns, float* to) {
  const int whole = columns / (2 * lanes) * (2 * lanes);
  for (int r = 0; r < rows; r++, x += stride, to += pairs_of(columns)) {
    for (int c = 0; c < whole; c += 2 * lanes) store(to + c / 2, pairs_along(load(x + c), load(x + c + lanes)));
    if (whole < columns)
      store(to + whole / 2,
            pairs_along(load_some(x + whole, columns - whole), load_some(x + whole + lanes, columns - whole - lanes)));
  }
}

// Puts each column's numbers of two successive rows in a pair: [pairs_of(rows)][columns in whole vectors]. What is read
// behind a row goes to no column that there is.
FUSED_INLINE void pair_rows(int rows, const float* x, int stride, int columns, float* to) {
  const int width = rounded_up(columns, lanes);
  int r = 0;
  for (; r + 1 < rows; r += 2, x += 2 * stride, to += width)
    for (int c = 0; c < columns; c += lanes) store(to + c, pairs_across(load(x + c), load(x + stride + c)));
  for (int c = 0; r < rows && c < columns; c += lanes) store(to + c, pairs_across(load(x + c), Vector{}));
}

}  // namespace fused
