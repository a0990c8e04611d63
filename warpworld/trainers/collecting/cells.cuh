// What one unit of a recurrent cell (policies/layers/cells.py) makes of what its layer says.
#pragma once

#include <warpworld.cuh>

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// (1 - z) * before + z * candidate, as torch.lerp has it.
__device__ inline float mean_after(float before, float candidate, float z) {
  const float apart = candidate - before;
  return z < 0.5f ? before + z * apart : candidate - apart * (1.0f - z);
}

enum class Cell { none, mingru, gru, lstm };

// Numbers of a layer of Size units: what it says of what it reads, what it says of its hidden state before, and its state.
template <Cell Kind, int Size>
struct CellLayer {
  static constexpr int said = Size * (Kind == Cell::none ? 0 : Kind == Cell::mingru ? 2 : Kind == Cell::gru ? 3 : 4);
  static constexpr int recalled = Kind == Cell::mingru ? 0 : said;
  static constexpr int state = Kind == Cell::none ? 0 : Kind == Cell::lstm ? 2 * Size : Size;
};

// A unit's hidden state after a step, which is also written to its state. What belongs to the unit in `said`, `recalled` and
// `state` lies Size numbers apart, in torch's order of gates.
template <Cell Kind, int Size>
__device__ float advanced(const float* said, const float* recalled, float* state) {
  if constexpr (Kind == Cell::mingru) {
    return state[0] = mean_after(state[0], said[Size], sigmoid(said[0]));
  } else if constexpr (Kind == Cell::gru) {
    const float reset = sigmoid(said[0] + recalled[0]), update = sigmoid(said[Size] + recalled[Size]);
    const float candidate = tanhf(said[2 * Size] + reset * recalled[2 * Size]);
    return state[0] = candidate + update * (state[0] - candidate);
  } else {
    const float into = sigmoid(said[0] + recalled[0]), kept = sigmoid(said[Size] + recalled[Size]);
    const float candidate = tanhf(said[2 * Size] + recalled[2 * Size]), out = sigmoid(said[3 * Size] + recalled[3 * Size]);
    const float memory = kept * state[Size] + into * candidate;
    state[Size] = memory;
    return state[0] = out * tanhf(memory);
  }
}
