// Matrix products of one tile: at most `tile` rows of samples, all other sizes known at run time only.
//
// Both have one shape of loop: a scalar of A times a few vectors of B, added up in registers. With pairs each of them is
// two numbers, and there are half as many along what is added up.
#pragma once

#include "terms.hpp"

namespace fused {

constexpr int tile = 96;       // samples that pass through a network together, so that all layers stay in the cache
constexpr int row_block = 12;  // rows of a tile are a multiple of it

// Calls `use(r, c, value)` for each vector of a block that begins at a row and column.
template <int Rows, int Vectors, class Use>
FUSED_INLINE void for_block(int row, int column, const Vector (&block)[Rows][Vectors], Use use) {
  FUSED_UNROLL for (int r = 0; r < Rows; r++)
    FUSED_UNROLL for (int v = 0; v < Vectors; v++) use(row + r, column + v * lanes, block[r][v]);
}

// C = A B for the columns from `column` on, in blocks of Rows x (Vectors * lanes).
//
// A[r][k] = a[r * row_stride + k * step]; B[k][c] = b[k * b_stride + c - column]; `initial(r, c)` is what C's numbers start
// from, `finish(row, column, block)` stores a block, `between()` is called before each block.
template <class Terms, int Rows, int Vectors, class Initial, class Finish, class Between>
FUSED_INLINE void product_block(int rows, const float* __restrict a, int row_stride, int step, int depth,
                                const float* __restrict b, int b_stride, int column, Initial initial, Finish finish,
                                Between between) {
  for (int row = 0; row < rows; row += Rows) {
    between();
    Vector sums[Rows][Vectors];
    FUSED_UNROLL for (int r = 0; r < Rows; r++)
      FUSED_UNROLL for (int v = 0; v < Vectors; v++) sums[r][v] = initial(row + r, column + v * lanes);
    const float* first = a + row * row_stride;
    for (int k = 0; k < depth; k++) {
      Vector terms[Vectors];
      FUSED_UNROLL for (int v = 0; v < Vectors; v++) terms[v] = load(b + k * b_stride + v * lanes);
      FUSED_UNROLL for (int r = 0; r < Rows; r++) {
        const Vector factor = Terms::everywhere(first + r * row_stride + k * step);
        FUSED_UNROLL for (int v = 0; v < Vectors; v++) sums[r][v] = Terms::add(sums[r][v], factor, terms[v]);
      }
    }
    finish(row, column, sums);
  }
}

// C = A B: `rows` (a multiple of row_block) x `columns` (a multiple of lanes). Each caller has a function of its
// own: among other loops GCC may keep sums in memory, and it compiles for longer.
template <class Terms, class Initial, class Finish, class Between = void (*)()>
FUSED_ALONE void product(int rows, const float* a, int row_stride, int step, int depth, const float* b, int b_stride,
                         int columns, Initial initial, Finish finish, Between between = [] {}) {
  const auto start = [&](int, int column) { return initial(column); };
  int c = 0;
#define FUSED_BLOCKS(ROWS, VECTORS)                            \
  for (; columns - c >= VECTORS * lanes; c += VECTORS * lanes) \
  product_block<Terms, ROWS, VECTORS>(rows, a, row_stride, step, depth, b + c, b_stride, c, start, finish, between)
  if constexpr (registers == 32) {
    FUSED_BLOCKS(6, 4);
    FUSED_BLOCKS(12, 2);
  } else {
    FUSED_BLOCKS(6, 2);
  }
  FUSED_BLOCKS(12, 1);
#undef FUSED_BLOCKS
}

// Adds the transposed product for rows `row` of the result on, as many blocks of Rows as there are; returns the first
// row that is left.
template <class Terms, int Rows, int Vectors>
FUSED_INLINE int add_transposed_block(int samples, const float* __restrict a, int sample_stride, int step, int row,
                                      int rows, const float* __restrict d, int d_stride, int column,
                                      float* __restrict sums_out, int sums_stride) {
  for (; rows - row >= Rows; row += Rows) {
    Vector sums[Rows][Vectors];
    FUSED_UNROLL for (int r = 0; r < Rows; r++)
      FUSED_UNROLL for (int v = 0; v < Vectors; v++) sums[r][v] = (Vector){};
    const float *first = a + row * step, *from = d + column;
    for (int s = 0; s < samples; s++, first += sample_stride, from += d_stride) {
      Vector terms[Vectors];
      FUSED_UNROLL for (int v = 0; v < Vectors; v++) terms[v] = load(from + v * lanes);
      FUSED_UNROLL for (int r = 0; r < Rows; r++) {
        const Vector factor = Terms::everywhere(first + r * step);
        FUSED_UNROLL for (int v = 0; v < Vectors; v++) sums[r][v] = Terms::add(sums[r][v], factor, terms[v]);
      }
    }
    FUSED_UNROLL for (int r = 0; r < Rows; r++) FUSED_UNROLL for (int v = 0; v < Vectors; v++) {
      float* out = sums_out + (row + r) * sums_stride + column + v * lanes;
      store(out, load(out) + sums[r][v]);
    }
  }
  return row;
}

// The same for all rows from `row` on. What is left behind the blocks is one of its own: row by row, each addition would
// wait for the one before.
template <class Terms, int Rows, int Vectors>
FUSED_INLINE void add_transposed_rows(int samples, const float* a, int sample_stride, int step, int row, int rows,
                                      const float* d, int d_stride, int column, float* sums, int sums_stride) {
  row = add_transposed_block<Terms, Rows, Vectors>(samples, a, sample_stride, step, row, rows, d, d_stride, column, sums,
                                                   sums_stride);
  if constexpr (Rows > 1) {
    if (row < rows)
      add_transposed_rows<Terms, Rows - 1, Vectors>(samples, a, sample_stride, step, row, rows, d, d_stride, column,
                                                    sums, sums_stride);
  }
}

// G += A^T D: A[s][r] = a[s * sample_stride + r * step], D[s][c] = d[s * d_stride + c], G[r][c] = sums[r * sums_stride +
// c], for c < columns, a multiple of lanes.
template <class Terms>
FUSED_INLINE void add_transposed_product(int samples, const float* a, int sample_stride, int step, int rows,
                                         const float* d, int d_stride, int columns, float* sums, int sums_stride) {
  int c = 0;
#define FUSED_BLOCKS(ROWS, VECTORS)                                                                                   \
  for (; columns - c >= VECTORS * lanes; c += VECTORS * lanes)                                                        \
  add_transposed_rows<Terms, ROWS, VECTORS>(samples, a, sample_stride, step, 0, rows, d, d_stride, c, sums, sums_stride)
  if constexpr (registers == 32) {
    FUSED_BLOCKS(6, 4);
    FUSED_BLOCKS(8, 2);
  } else {
    FUSED_BLOCKS(4, 2);
  }
  FUSED_BLOCKS(8, 1);
#undef FUSED_BLOCKS
}

}  // namespace fused
