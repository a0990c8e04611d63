// Products of matrices of which most numbers are 0, as flags and one-hot vectors in observations are: the numbers that are
// not are found first, and only these are multiplied. A product's sums are those of matmul.hpp, bit for bit, if all that
// 0 is multiplied with is finite.
#pragma once

#include "matmul.hpp"

namespace fused {

constexpr int share_of_few = 8;       // at most one of so many is not 0, or products take all
constexpr int least_depth = 2 * lanes;  // below, looking for numbers takes as long as multiplying them

// Numbers of a matrix's rows that are not 0, found by their columns: row r's are columns[ends[r]] to columns[ends[r + 1]].
struct Few {
  int* columns;
  int ends[tile + 1];
};

// Ints that are needed to find them among a tile's rows: those of one row may be too many.
constexpr size_t ints_of_few(int depth) { return (size_t)tile * depth / share_of_few + depth + lanes; }

// Puts the numbers of those of the first lanes that are not 0, or hold a pair of which one is not, behind each other, and up
// to a vector behind them; returns how many there are. The first lane's number is `first`.
FUSED_INLINE int put_not_zero(Vector x, int count, int first, int* to) {
#if defined(__AVX512F__)
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __mmask16 all = count < lanes ? (1u << count) - 1 : 0xFFFF;
  const __mmask16 those = _mm512_mask_test_epi32_mask(all, (__m512i)x, (__m512i)x);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(those, _mm512_add_epi32(lane, _mm512_set1_epi32(first))));
  return __builtin_popcount(those);
#else
  const Bits bits = bits_of(x);
  int found = 0;
  for (int i = 0; i < lanes && i < count; i++) {
    to[found] = first + i;
    found += bits[i] != 0;
  }
  return found;
#endif
}

// Finds them; returns whether there are few. What is read behind a row does not count.
static bool find_few(int rows, const float* a, int row_stride, int depth, Few& few) {
  const int most = rows * depth / share_of_few;
  int found = 0;
  few.ends[0] = 0;
  for (int r = 0; r < rows; r++, a += row_stride) {
    for (int k = 0; k < depth; k += lanes) found += put_not_zero(load(a + k), depth - k, k, few.columns + found);
    if (found > most) return false;
    few.ends[r + 1] = found;
  }
  return true;
}

template <int N>
struct Count {
  static constexpr int value = N;
};

// Calls `use` with as many vectors of columns at once as there are, for each block of them.
template <class Use>
FUSED_INLINE void for_columns(int columns, Use use) {
  int c = 0;
  for (; columns - c >= 4 * lanes; c += 4 * lanes) use(Count<4>{}, c);
  for (; columns - c >= 2 * lanes; c += 2 * lanes) use(Count<2>{}, c);
  for (; c < columns; c += lanes) use(Count<1>{}, c);
}

// C = A B, arguments as those of matmul.hpp.
template <class Terms, class Initial, class Finish>
FUSED_INLINE void product_of_few(const Few& few, int rows, const float* a, int row_stride, const float* b, int b_stride,
                                 int columns, Initial initial, Finish finish) {
  for_columns(columns, [&](auto width, int column) {
    constexpr int vectors = decltype(width)::value;
    for (int r = 0; r < rows; r++) {
      Vector sums[1][vectors];
      FUSED_UNROLL for (int v = 0; v < vectors; v++) sums[0][v] = initial(column + v * lanes);
      for (int i = few.ends[r]; i < few.ends[r + 1]; i++) {
        const int k = few.columns[i];
        const Vector factor = Terms::everywhere(a + (size_t)r * row_stride + k);
        const float* terms = b + (size_t)k * b_stride + column;
        FUSED_UNROLL for (int v = 0; v < vectors; v++) sums[0][v] = Terms::add(sums[0][v], factor, load(terms + v * lanes));
      }
      finish(r, column, sums);
    }
  });
}

// G += A^T D, arguments as those of matmul.hpp.
template <class Terms>
FUSED_INLINE void add_transposed_product_of_few(const Few& few, int rows, const float* a, int row_stride, const float* d,
                                                int d_stride, int columns, float* sums, int sums_stride) {
  for_columns(columns, [&](auto width, int column) {
    constexpr int vectors = decltype(width)::value;
    for (int r = 0; r < rows; r++) {
      Vector terms[vectors];
      FUSED_UNROLL for (int v = 0; v < vectors; v++) terms[v] = load(d + (size_t)r * d_stride + column + v * lanes);
      for (int i = few.ends[r]; i < few.ends[r + 1]; i++) {
        const int k = few.columns[i];
        const Vector factor = Terms::everywhere(a + (size_t)r * row_stride + k);
        float* const out = sums + (size_t)k * sums_stride + column;
        FUSED_UNROLL for (int v = 0; v < vectors; v++)
          store(out + v * lanes, Terms::add(load(out + v * lanes), factor, terms[v]));
      }
    }
  });
}

}  // namespace fused
