// Small perceptrons, evaluated for the agents of an env by all of its lanes.
//
// Weights lie as (inputs, units), and the biases follow. There are two ways through a layer:
//  - run_layer: neighbouring lanes have neighbouring units, and read neighbouring weights. A lane takes one unit for TILE
//    agents at a time, and reads each of its weights once for them. An env has lanes of its own for it.
//  - run_layer_in_place: an env has a lane for each agent, and shares a warp with other envs. A lane takes several units
//    of one agent at a time. The lanes of a warp have the same units, so that they read the same weights at once.
// Both add up in the same order.
#pragma once

#include <warpworld.cuh>

enum class Activation { none, tanh, relu };

// NaN stays NaN, as in torch.
template <Activation ACTIVATION>
__device__ inline float activated(float x) {
  if (ACTIVATION == Activation::relu) return x < 0.0f ? 0.0f : x;
  return ACTIVATION == Activation::tanh ? tanhf(x) : x;
}

// What a layer reads: number i of an agent, SIZE of them, STRIDE numbers from one agent's to the next one's.
template <int SIZE, int STRIDE = SIZE>
struct Numbers {
  static constexpr int size = SIZE;
  const float* rows;
  __device__ float at(int agent, int i) const { return rows[agent * STRIDE + i]; }
};

// The same, shifted and scaled by a normaliser and cut off at +-10, as policies/inputs/normaliser.py does.
template <int SIZE>
struct Normalised {
  static constexpr int size = SIZE;
  const float* rows;
  const float* mean;
  const float* scale;
  __device__ float at(int agent, int i) const {
    const float x = (rows[agent * SIZE + i] - mean[i]) * scale[i];
    return x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x;
  }
};

// ---- a lane for each agent -------------------------------------------------------------------------------------------
constexpr int parts_of(int count, int most) { return (count + most - 1) / most; }

// How many sums each of the env's lanes adds up if it takes `width` units of an agent at a time.
constexpr int sums_of_lane(int agents, int units, int width) {
  return parts_of(agents * parts_of(units, width), NUM_AGENTS) * width;
}

// The width that leaves a lane the fewest sums, and of such the largest: a lane reads its input once for all of them.
constexpr int best_width(int agents, int units) {
  int best = units < 16 ? units : 16;
  for (int width = 8; width >= 4; width /= 2)
    if (width < units && sums_of_lane(agents, units, width) < sums_of_lane(agents, units, best)) best = width;
  return best;
}

// Which agent, and which units of it, a lane takes in each of its turns.
template <int AGENTS, int UNITS>
struct Turns {
  static constexpr int width = best_width(AGENTS, UNITS), items = AGENTS * parts_of(UNITS, width);
  static constexpr int count = parts_of(items, NUM_AGENTS);
  static __device__ bool is_any(int turn) { return lane() + turn * NUM_AGENTS < items; }
  static __device__ int item(int turn) { return min(lane() + turn * NUM_AGENTS, items - 1); }
  // Where all agents of the env are in the group, these are known to the compiler.
  static __device__ int agent(int turn) { return AGENTS == NUM_AGENTS ? lane() : item(turn) % AGENTS; }
  static __device__ int unit(int turn) { return (AGENTS == NUM_AGENTS ? turn : item(turn) / AGENTS) * width; }
};

// Reads the numbers of COUNT units from `first` on; those behind the last unit are anything.
template <int UNITS, int COUNT, bool ALIGNED>
__device__ void read_units(const float* numbers, int first, float (&read)[COUNT]) {
  if constexpr (ALIGNED && UNITS % 4 == 0 && COUNT % 4 == 0 && UNITS % COUNT == 0) {
    for (int k = 0; k < COUNT; k += 4) {
      const float4 four = *reinterpret_cast<const float4*>(numbers + first + k);
      read[k] = four.x, read[k + 1] = four.y, read[k + 2] = four.z, read[k + 3] = four.w;
    }
  } else {
    for (int k = 0; k < COUNT; ++k) read[k] = numbers[UNITS % COUNT == 0 ? first + k : min(first + k, UNITS - 1)];
  }
}

// One layer for AGENTS agents, whose outputs are written to `numbers`, (agents, STRIDE), where the inputs may lie: all
// sums are complete before any is written. All lanes of the env call it, and no barrier follows the outputs. ALIGNED:
// whether the weights begin at a multiple of 16 bytes.
template <int UNITS, int AGENTS, int STRIDE, bool ALIGNED, Activation ACTIVATION, class Inputs>
__device__ void run_layer_in_place(const float* weights, const Inputs& inputs, float* numbers) {
  using Own = Turns<AGENTS, UNITS>;
  const float* biases = weights + Inputs::size * UNITS;
  float sums[Own::count][Own::width];
  for (int turn = 0; turn < Own::count; ++turn)
    read_units<UNITS, Own::width, ALIGNED>(biases, Own::unit(turn), sums[turn]);
  for (int i = 0; i < Inputs::size; ++i) {
    for (int turn = 0; turn < Own::count; ++turn) {
      const float input = inputs.at(Own::agent(turn), i);
      float read[Own::width];
      read_units<UNITS, Own::width, ALIGNED>(weights + i * UNITS, Own::unit(turn), read);
      for (int k = 0; k < Own::width; ++k) sums[turn][k] += read[k] * input;
    }
  }
  sync_env();  // orders the reading of the inputs before what is written over them
  for (int turn = 0; turn < Own::count; ++turn) {
    if (!Own::is_any(turn)) continue;
    float* outputs = numbers + Own::agent(turn) * STRIDE;
    for (int k = 0; k < Own::width; ++k) {
      const int unit = Own::unit(turn) + k;
      if (unit < UNITS) outputs[unit] = activated<ACTIVATION>(sums[turn][k]);
    }
  }
}

// ---- neighbouring lanes for neighbouring units -----------------------------------------------------------------------
// One layer, for the first `count` agents: outputs (agents, UNITS). No barrier is in it.
template <int UNITS, int TILE, Activation ACTIVATION, class Inputs>
__device__ void run_layer(const float* weights, const Inputs& inputs, int count, float* outputs) {
  const float* biases = weights + Inputs::size * UNITS;
  const int tiles = (count + TILE - 1) / TILE;
  for (int item = lane(); item < tiles * UNITS; item += num_lanes()) {
    const int unit = item % UNITS, first = item / UNITS * TILE;
    float sums[TILE];
    for (int k = 0; k < TILE; ++k) sums[k] = biases[unit];
    for (int i = 0; i < Inputs::size; ++i) {
      const float weight = weights[i * UNITS + unit];
      for (int k = 0; k < TILE; ++k) sums[k] += weight * inputs.at(min(first + k, count - 1), i);
    }
    for (int k = 0; k < TILE; ++k)
      if (first + k < count) outputs[(first + k) * UNITS + unit] = activated<ACTIVATION>(sums[k]);
  }
}
