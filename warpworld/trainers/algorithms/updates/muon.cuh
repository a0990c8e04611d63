// Moves of matrices by Muon (Jordan et al. 2024), as work that blocks share in turns (in_turn.cuh): the products of all matrices
// side by side, in tiles. Their values do not depend on which block did what.
//
// A matrix X of what is moved along, with its shorter side first, has its singular values made about 1: five times
// A = X X', B = b A + c A A, X = a X + B X. It begins divided by its norm, the root of the trace of the first A: that A and what
// follows are scaled when they are read. All of it is float32. LANES lanes work, 1024 at most.
#pragma once

#include "lane_sums.cuh"
#include "tiles.cuh"

constexpr int ITERATIONS = 5;
constexpr float SCHULZ_A = 3.4445f, SCHULZ_B = -4.7750f, SCHULZ_C = 2.0315f, LEAST_NORM = 1e-7f;

// A matrix in the vector of parameters, (rows, columns) from `first` on. `square`: where its A begins; grams and tiles: tiles of
// A, and of X, that the matrices before it have.
struct Matrix {
  int first, rows, columns, square, grams, tiles;

  __device__ int shorter() const { return min(rows, columns); }
  __device__ int longer() const { return max(rows, columns); }
};

// All matrices: (count,) Matrix; `others` (size,) float is 0 where the vector belongs to one. momentum (size,); moves
// (2, size), for X and the X that follows; squares (2, area), for A and B. size: of the vector; grams and tiles: of all matrices.
struct Muon {
  int64_t matrices, others, momentum, moves, squares;
  float beta;
  int count, size, area, grams, tiles;

  __device__ bool has(int place) const { return ((const float*)others)[place] == 0.0f; }
  __device__ int of_iteration() const { return 2 * grams + tiles; }
  __device__ int turns() const { return ITERATIONS * of_iteration(); }
  __device__ float* move(int which) const { return (float*)moves + (size_t)(which % 2) * size; }
  __device__ float* gram() const { return (float*)squares; }
  __device__ float* polynomial() const { return (float*)squares + area; }

  // The momentum after a gradient, and what is moved along, by Nesterov's rule.
  __device__ void gather(int place, float gradient) const {
    float& held = ((float*)momentum)[place];
    held = held + (1.0f - beta) * (gradient - held);
    move(0)[place] = held - (held - gradient) * (1.0f - beta);
  }
};

// A matrix of the vector at `numbers`, its shorter side first.
__device__ inline View view_of(const Matrix& own, float* numbers) {
  const bool lies = own.rows <= own.columns;
  return View{numbers + own.first, lies ? own.columns : 1, lies ? 1 : own.columns};
}

// The inverse of a matrix's norm, from its first A.
__device__ inline float inverse_norm(const float* gram, int side, Sums& sums) {
  double some = 0.0;
  for (int i = lane(); i < side; i += LANES) some += (double)gram[(size_t)i * side + i];
  return 1.0f / fmaxf((float)sqrt(sum_of_lanes(sums, some)), LEAST_NORM);
}

// A tile of a product, written to `written` (rows, columns) as View: `share` of what stands in `kept`, and `scale` of the product.
__device__ inline void put_tile(const View& kept, const View& written, int rows, int columns, int row, int column, float share,
                                float scale, const float (&sums)[OF_LANE]) {
#pragma unroll
  for (int k = 0; k < OF_LANE; ++k) {
    const int r = row + row_of(k), c = column + column_of();
    if (r >= rows || c >= columns) continue;
    const float before = share == 0.0f ? 0.0f : share * kept.at(r, c);
    written.at(r, c) = before + scale * sums[k];
  }
}

// The matrix that has a tile: the last that has none of it before.
__device__ inline Matrix matrix_of(const Muon& muon, int tile, int Matrix::*before) {
  const Matrix* matrices = (const Matrix*)muon.matrices;
  int number = 0;
  while (number + 1 < muon.count && matrices[number + 1].*before <= tile) ++number;
  return matrices[number];
}

// First turn of the phase that a turn belongs to.
__device__ inline int phase_of(const Muon& muon, int turn) {
  const int rest = turn % muon.of_iteration(), begins = turn - rest;
  return rest < muon.grams ? begins : rest < 2 * muon.grams ? begins + muon.grams : begins + 2 * muon.grams;
}

// A tile of A or of B.
__device__ inline void square_tile(const Muon& muon, const Matrix& own, int iteration, bool is_gram, int tile, float* shared,
                                   Sums& sums_of_lanes) {
  const int side = own.shorter(), across = tiles_of(side), row = tile / across * SIDE, column = tile % across * SIDE;
  const View gram{muon.gram() + own.square, side, 1}, polynomial{muon.polynomial() + own.square, side, 1};
  float sums[OF_LANE];
  if (is_gram) {
    const View move = view_of(own, muon.move(iteration));
    multiply(move, move.turned(), side, own.longer(), side, row, column, false, shared, sums);
    put_tile(gram, gram, side, side, row, column, 0.0f, 1.0f, sums);
    return;
  }
  const float inverse = iteration == 0 ? inverse_norm(gram.numbers, side, sums_of_lanes) : 1.0f, squared = inverse * inverse;
  multiply(gram, gram, side, side, side, row, column, false, shared, sums);
  put_tile(gram, polynomial, side, side, row, column, SCHULZ_B * squared, SCHULZ_C * squared * squared, sums);
}

// A tile of the X that follows; after the last iteration the vector moves instead.
__device__ inline void move_tile(const Muon& muon, const Matrix& own, int iteration, int tile, float rate, float* vector,
                                 float* shared, Sums& sums_of_lanes) {
  const int side = own.shorter(), length = own.longer(), across = tiles_of(length);
  const int row = tile / across * SIDE, column = tile % across * SIDE;
  const View move = view_of(own, muon.move(iteration));
  float share = SCHULZ_A, scale = 1.0f;
  if (iteration == 0) {
    scale = inverse_norm(muon.gram() + own.square, side, sums_of_lanes);
    share *= scale;
  }
  float sums[OF_LANE];
  multiply(View{muon.polynomial() + own.square, side, 1}, move, side, side, length, row, column, false, shared, sums);
  if (iteration + 1 < ITERATIONS) {
    put_tile(move, view_of(own, muon.move(iteration + 1)), side, length, row, column, share, scale, sums);
    return;
  }
  const View weights = view_of(own, vector);
  const float step = rate * 0.2f * sqrtf((float)length);  // about as long as one of Adam's (Liu et al. 2025)
#pragma unroll
  for (int k = 0; k < OF_LANE; ++k) {
    const int r = row + row_of(k), c = column + column_of();
    if (r >= side || c >= length) continue;
    weights.at(r, c) -= step * (share * move.at(r, c) + scale * sums[k]);
  }
}

// A turn of a step, of those that follow `gather`, when the phases before are done.
__device__ inline void take_turn(const Muon& muon, int turn, float rate, float* vector, float* shared, Sums& sums) {
  const int iteration = turn / muon.of_iteration(), rest = turn % muon.of_iteration();
  if (rest < 2 * muon.grams) {
    const Matrix own = matrix_of(muon, rest % muon.grams, &Matrix::grams);
    square_tile(muon, own, iteration, rest < muon.grams, rest % muon.grams - own.grams, shared, sums);
  } else {
    const Matrix own = matrix_of(muon, rest - 2 * muon.grams, &Matrix::tiles);
    move_tile(muon, own, iteration, rest - 2 * muon.grams - own.tiles, rate, vector, shared, sums);
  }
}
