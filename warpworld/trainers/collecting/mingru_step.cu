// A step of all layers of a minimal GRU in one launch.
//
// With `reduced`, layers multiply as torch does in bfloat16: what they read is rounded to it, and so is what they say. A
// state is (rows, LAYERS * SIZE). A block takes ROWS rows at once, a multiple of TILE, which a lane takes at once for each
// weight that it reads.
#include "mingru.cuh"

constexpr int MOST = WIDTH > SIZE ? WIDTH : SIZE;

// Weights and biases of up to four layers, (2 * SIZE, inputs) and (2 * SIZE,) float; 0 for a layer that there is not.
struct Layers {
  int64_t weights_0, weights_1, weights_2, weights_3, biases_0, biases_1, biases_2, biases_3;

  __device__ const float* weights(int layer) const {
    return (const float*)(layer == 0 ? weights_0 : layer == 1 ? weights_1 : layer == 2 ? weights_2 : weights_3);
  }
  __device__ const float* biases(int layer) const {
    return (const float*)(layer == 0 ? biases_0 : layer == 1 ? biases_1 : layer == 2 ? biases_2 : biases_3);
  }
};

// Distances in shared memory, chosen so that the lanes of a warp meet different banks: from one number of all rows to the
// next number, where a lane reads and writes four rows at once, and from one input's weights to the next input's.
constexpr int PITCH = ROWS + 4, STRIDE = 2 * SIZE + 1;

// A layer's weights in shared memory, (inputs, STRIDE): lanes side by side read numbers side by side.
__device__ void fetch_weights(const float* weights, int inputs, bool reduced, float* fetched) {
  for (int i = lane(); i < inputs * 2 * SIZE; i += num_lanes())
    fetched[i % inputs * STRIDE + i / inputs] = rounded(weights[i], reduced);
}

// A unit's gates and candidates for the TILE rows whose inputs begin at `read`.
__device__ void multiply(const float* weights, const float* read, int inputs, int unit, float* gates, float* candidates) {
#pragma unroll
  for (int r = 0; r < TILE; ++r) gates[r] = candidates[r] = 0.0f;
#pragma unroll 4
  for (int i = 0; i < inputs; ++i) {
    const float gate = weights[i * STRIDE + unit], candidate = weights[i * STRIDE + SIZE + unit];
#pragma unroll
    for (int r = 0; r < TILE; r += 4) {
      const float4 four = *(const float4*)(read + i * PITCH + r);
      const float seen[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        gates[r + k] += gate * seen[k];
        candidates[r + k] += candidate * seen[k];
      }
    }
  }
}

// `fed` is what the first layer reads, bfloat16 with `fed_reduced`; `hidden` is what the last one says, (rows, SIZE).
extern "C" __global__ void remember(int64_t fed, int64_t state, int64_t hidden, int64_t after, Layers layers, int rows,
                                    bool fed_reduced, bool reduced, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(float4, numbers, 2 * PITCH * MOST / 4);  // what a layer reads and what it says, (MOST, PITCH) each
  ENV_SHARED(float, weights, MOST * STRIDE);
  const RealTensor inputs_of_all{fed, fed_reduced};
  float *read = (float*)numbers, *written = read + PITCH * MOST;
  for (int first = env_id() * ROWS; first < rows; first += num_envs * ROWS) {
    const int count = min(ROWS, rows - first);
    for (int i = lane(); i < ROWS * WIDTH; i += num_lanes())
      read[i % WIDTH * PITCH + i / WIDTH] =
          i < count * WIDTH ? rounded(inputs_of_all.at((size_t)first * WIDTH + i), reduced) : 0.0f;
    for (int layer = 0; layer < LAYERS; ++layer) {
      const int inputs = layer == 0 ? WIDTH : SIZE;
      const float* biases = layers.biases(layer);
      fetch_weights(layers.weights(layer), inputs, reduced, weights);
      sync_env();  // orders inputs and weights before the products
      for (int item = lane(); item < ROWS / TILE * SIZE; item += num_lanes()) {
        const int unit = item % SIZE, begin = item / SIZE * TILE;
        float gates[TILE], candidates[TILE];
        multiply(weights, read + begin, inputs, unit, gates, candidates);
        const float of_gate = rounded(biases[unit], reduced), of_candidate = rounded(biases[SIZE + unit], reduced);
        float said[TILE];
#pragma unroll
        for (int r = 0; r < TILE; ++r) {
          const size_t row = first + min(begin + r, count - 1), place = (row * LAYERS + layer) * SIZE + unit;
          const float z = sigmoid(rounded(gates[r] + of_gate, reduced));
          const float mean = mean_after(((const float*)state)[place], rounded(candidates[r] + of_candidate, reduced), z);
          said[r] = rounded(mean, reduced);
          if (begin + r >= count) continue;
          ((float*)after)[place] = mean;
          if (layer == LAYERS - 1) ((float*)hidden)[row * SIZE + unit] = mean;
        }
#pragma unroll
        for (int r = 0; r < TILE; r += 4)
          *(float4*)(written + unit * PITCH + begin + r) = make_float4(said[r], said[r + 1], said[r + 2], said[r + 3]);
      }
      sync_env();  // orders the products before the next layer's weights, and what they gave before it is read
      float* const next = written;
      written = read;
      read = next;
    }
  }
}
