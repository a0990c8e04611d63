// The recurrence of a minimal GRU's layer (policies/layers/gated_mean.py), forward and backward through time, in a launch each.
//
// What a layer says is (steps, rows, 2 * SIZE), gates before the sigmoid and behind them candidates, bfloat16 where
// `reduced`, and so is its gradient. A state is (rows, SIZE), means and their gradients (steps, rows, SIZE) float, and starts
// (steps, rows) bool.
#include "mingru.cuh"

constexpr int AHEAD = 8;  // steps whose numbers are read before the first of them is computed

extern "C" __global__ void means(int64_t said, int64_t state, int64_t starts, int64_t found, int steps, int rows,
                                 bool reduced, int num_envs) {
  if (env_id() >= num_envs) return;
  const RealTensor layer{said, reduced};
  const bool* begins = (const bool*)starts;
  float* means = (float*)found;
  for (int i = first_lane(); i < rows * SIZE; i += all_lanes(num_envs)) {
    const int row = i / SIZE, unit = i % SIZE;
    float mean = ((const float*)state)[i];
    for (int first = 0; first < steps; first += AHEAD) {
      float gates[AHEAD], candidates[AHEAD];
#pragma unroll
      for (int t = 0; t < AHEAD; ++t) {
        const size_t place = ((size_t)min(first + t, steps - 1) * rows + row) * 2 * SIZE + unit;
        gates[t] = layer.at(place);
        candidates[t] = layer.at(place + SIZE);
      }
#pragma unroll
      for (int t = 0; t < AHEAD; ++t) {
        if (first + t >= steps) break;
        const size_t now = (size_t)(first + t) * rows + row;
        mean = mean_after(begins[now] ? 0.0f : mean, candidates[t], sigmoid(gates[t]));
        means[now * SIZE + unit] = mean;
      }
    }
  }
}

// What later steps say of a mean goes back in `later`.
extern "C" __global__ void mean_gradients(int64_t said, int64_t state, int64_t starts, int64_t found, int64_t given,
                                          int64_t of_said, int64_t of_state, int steps, int rows, bool reduced,
                                          int num_envs) {
  if (env_id() >= num_envs) return;
  const RealTensor layer{said, reduced}, of_layer{of_said, reduced};
  const bool* begins = (const bool*)starts;
  const float *means = (const float*)found, *gradients = (const float*)given, *before = (const float*)state;
  for (int i = first_lane(); i < rows * SIZE; i += all_lanes(num_envs)) {
    const int row = i / SIZE, unit = i % SIZE;
    float later = 0.0f;
    for (int last = steps - 1; last >= 0; last -= AHEAD) {
      float gates[AHEAD], candidates[AHEAD], kept[AHEAD], own[AHEAD];
#pragma unroll
      for (int t = 0; t < AHEAD; ++t) {
        const int step = max(last - t, 0);
        const size_t now = (size_t)step * rows + row;
        gates[t] = layer.at(now * 2 * SIZE + unit);
        candidates[t] = layer.at(now * 2 * SIZE + SIZE + unit);
        own[t] = gradients[now * SIZE + unit];
        kept[t] = step > 0 ? means[(now - rows) * SIZE + unit] : before[i];
      }
#pragma unroll
      for (int t = 0; t < AHEAD; ++t) {
        if (last - t < 0) break;
        const size_t now = (size_t)(last - t) * rows + row;
        const bool is_first = begins[now];
        const float z = sigmoid(gates[t]), gradient = later + own[t];
        const float of_gate = gradient * (candidates[t] - (is_first ? 0.0f : kept[t])) * ((1.0f - z) * z);
        of_layer.put(now * 2 * SIZE + unit, of_gate);
        of_layer.put(now * 2 * SIZE + SIZE + unit, gradient * z);
        later = is_first ? 0.0f : (1.0f - z) * gradient;
      }
    }
    ((float*)of_state)[i] = later;
  }
}
