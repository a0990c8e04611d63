// Products of matrices in tiles of SIDE times SIDE, each by the LANES lanes of a block, 1024 at most.
#pragma once

#include "../../collecting/bfloat16.cuh"

constexpr int SIDE = 32, SIDE_PITCH = SIDE + 1;         // of a tile
constexpr int OF_LANE = SIDE * SIDE / LANES;            // numbers of a tile that a lane computes
constexpr int NUMBERS_OF_TILES = 2 * SIDE * SIDE_PITCH;  // in shared memory: tiles of both factors

// Numbers of a matrix, which lie `down` and `across` apart.
struct View {
  float* numbers;
  int down, across;

  __device__ float& at(int row, int column) const { return numbers[(size_t)row * down + (size_t)column * across]; }
  __device__ bool lies() const { return across == 1; }
  __device__ View turned() const { return View{numbers, across, down}; }
};

// Tiles that cover a side.
__device__ inline int tiles_of(int side) { return (side + SIDE - 1) / SIDE; }

// A tile of a factor, from (row, column) on, as (SIDE, SIDE_PITCH); 0 beyond its ends. Neighbouring lanes read neighbours: a factor
// says by lies() whether those of a row are.
template <class Factor>
__device__ void fetch_tile(const Factor& factor, int rows, int columns, int row, int column, bool reduced,
                           float* fetched) {
  const bool along = factor.lies();
#pragma unroll 1
  for (int i = lane(); i < SIDE * SIDE; i += LANES) {
    const int r = along ? i / SIDE : i % SIDE, c = along ? i % SIDE : i / SIDE;
    const bool is_there = row + r < rows && column + c < columns;
    fetched[r * SIDE_PITCH + c] = is_there ? rounded(factor.at(row + r, column + c), reduced) : 0.0f;
  }
}

// Where a lane's numbers lie in a tile.
__device__ inline int row_of(int k) { return lane() / SIDE + k * (LANES / SIDE); }
__device__ inline int column_of() { return lane() % SIDE; }

// The tile from (row, column) on of a product (rows, inner) (inner, columns); where `reduced`, of factors that are rounded to
// bfloat16. Sums are float32.
template <class Left, class Right>
__device__ void multiply(const Left& left, const Right& right, int rows, int inner, int columns, int row, int column,
                         bool reduced, float* shared, float (&sums)[OF_LANE]) {
  float *of_left = shared, *of_right = shared + SIDE * SIDE_PITCH;
#pragma unroll
  for (int k = 0; k < OF_LANE; ++k) sums[k] = 0.0f;
#pragma unroll 1
  for (int first = 0; first < inner; first += SIDE) {
    sync_env();  // orders the reading of the tiles before
    fetch_tile(left, rows, inner, row, first, reduced, of_left);
    fetch_tile(right, inner, columns, first, column, reduced, of_right);
    sync_env();  // orders the tiles before products
#pragma unroll 4
    for (int i = 0; i < SIDE; ++i) {
      const float factor = of_right[i * SIDE_PITCH + column_of()];
#pragma unroll
      for (int k = 0; k < OF_LANE; ++k) sums[k] += of_left[row_of(k) * SIDE_PITCH + i] * factor;
    }
  }
}
