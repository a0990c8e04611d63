// The recurrence of a minimal GRU's layer (policies/layers/gated_mean.py), forward and backward through time, in a launch each.
//
// What a layer says is (steps, rows, 2 * SIZE), gates before the sigmoid and behind them candidates, bfloat16 where
// `reduced`, and so is its gradient. A state is (rows, SIZE), means and their gradients (steps, rows, SIZE) float, and starts
// (steps, rows) bool.
#include "mingru.cuh"

// The way of a unit of a row.
__device__ Way way_of(int steps, size_t rows) { return Way{steps, rows * 2 * SIZE, SIZE, rows * SIZE, rows}; }

extern "C" __global__ void means(int64_t said, int64_t state, int64_t starts, int64_t found, int steps, int rows,
                                 bool reduced, int num_envs) {
  if (env_id() >= num_envs) return;
  const RealTensor layer{said, reduced};
  for (int i = first_lane(); i < rows * SIZE; i += all_lanes(num_envs)) {
    const int row = i / SIZE, unit = i % SIZE;
    find_means(way_of(steps, rows), layer.behind((size_t)row * 2 * SIZE + unit), (const bool*)starts + row,
               ((const float*)state)[i], (float*)found + i);
  }
}

extern "C" __global__ void mean_gradients(int64_t said, int64_t state, int64_t starts, int64_t found, int64_t given,
                                          int64_t of_said, int64_t of_state, int steps, int rows, bool reduced,
                                          int num_envs) {
  if (env_id() >= num_envs) return;
  const RealTensor layer{said, reduced}, of_layer{of_said, reduced};
  for (int i = first_lane(); i < rows * SIZE; i += all_lanes(num_envs)) {
    const int row = i / SIZE, unit = i % SIZE;
    const size_t place = (size_t)row * 2 * SIZE + unit;
    ((float*)of_state)[i] =
        through_means(way_of(steps, rows), layer.behind(place), of_layer.behind(place), (const bool*)starts + row,
                      ((const float*)state)[i], (const float*)found + i, (const float*)given + i);
  }
}
