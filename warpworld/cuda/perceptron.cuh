// Small perceptrons, evaluated for the agents of an env by all of its lanes.
//
// Weights lie as (inputs, units), so that neighbouring lanes, which have neighbouring units, read neighbouring weights;
// the biases follow. A lane takes one unit for TILE agents at a time, and reads each of its weights once for them.
#pragma once

#include <warpworld.cuh>

enum class Activation { none, tanh, relu };

// NaN stays NaN, as in torch.
template <Activation ACTIVATION>
__device__ inline float activated(float x) {
  if (ACTIVATION == Activation::relu) return x < 0.0f ? 0.0f : x;
  return ACTIVATION == Activation::tanh ? tanhf(x) : x;
}

// What a layer reads: number i of an agent, (agents, SIZE).
template <int SIZE>
struct Numbers {
  const float* rows;
  __device__ float at(int agent, int i) const { return rows[agent * SIZE + i]; }
};

// The same, shifted and scaled by a normaliser and cut off at +-10, as policies/normaliser.py does.
template <int SIZE>
struct Normalised {
  const float* rows;
  const float* mean;
  const float* scale;
  __device__ float at(int agent, int i) const {
    const float x = (rows[agent * SIZE + i] - mean[i]) * scale[i];
    return x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x;
  }
};

// One layer, for the first `count` agents: outputs (agents, UNITS). No barrier is in it. Returns where the next layer's
// weights begin.
template <int INPUTS, int UNITS, int TILE, Activation ACTIVATION, class Inputs>
__device__ const float* run_layer(const float* weights, const Inputs& inputs, int count, float* outputs) {
  const float* biases = weights + INPUTS * UNITS;
  const int tiles = (count + TILE - 1) / TILE;
  for (int item = lane(); item < tiles * UNITS; item += num_lanes()) {
    const int unit = item % UNITS, first = item / UNITS * TILE;
    float sums[TILE];
    for (int k = 0; k < TILE; ++k) sums[k] = biases[unit];
    for (int i = 0; i < INPUTS; ++i) {
      const float weight = weights[i * UNITS + unit];
      for (int k = 0; k < TILE; ++k) sums[k] += weight * inputs.at(min(first + k, count - 1), i);
    }
    for (int k = 0; k < TILE; ++k)
      if (first + k < count) outputs[(first + k) * UNITS + unit] = activated<ACTIVATION>(sums[k]);
  }
  return biases + UNITS;
}

// Up to two hidden layers, whose width is 0 where there is none, and the layer of outputs. `hidden` has room for
// (agents, HIDDEN_1 + HIDDEN_2). All lanes of the env call it, and no barrier follows the last layer.
template <int FEATURES, int HIDDEN_1, int HIDDEN_2, int OUTPUTS, int TILE, Activation ACTIVATION, class Inputs>
__device__ void run_layers(const float* weights, const Inputs& inputs, int count, int room, float* hidden,
                           float* outputs) {
  if constexpr (HIDDEN_1 == 0) {
    run_layer<FEATURES, OUTPUTS, TILE, Activation::none>(weights, inputs, count, outputs);
  } else {
    weights = run_layer<FEATURES, HIDDEN_1, TILE, ACTIVATION>(weights, inputs, count, hidden);
    sync_env();  // orders the hidden layer before what reads it
    const Numbers<HIDDEN_1> first{hidden};
    if constexpr (HIDDEN_2 == 0) {
      run_layer<HIDDEN_1, OUTPUTS, TILE, Activation::none>(weights, first, count, outputs);
    } else {
      float* second = hidden + room * HIDDEN_1;
      weights = run_layer<HIDDEN_1, HIDDEN_2, TILE, ACTIVATION>(weights, first, count, second);
      sync_env();  // orders the second hidden layer before what reads it
      run_layer<HIDDEN_2, OUTPUTS, TILE, Activation::none>(weights, Numbers<HIDDEN_2>{second}, count, outputs);
    }
  }
}
