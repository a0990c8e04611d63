// Layers of a small perceptron for a tile of rows, forward and backward, by the lanes of an env.
//
// Numbers of a tile lie as (units, pitch) in shared memory: those of its rows, and behind them 4 that keep neighbouring units in
// different banks. Weights lie as (outputs, inputs) with the bias behind the inputs, at an odd pitch for the same reason. A lane
// takes four rows of two units at a time, and sums gradients of blocks of weights in registers over all tiles.
//
// An env has LANES lanes, at least as many as a layer has units.
#pragma once

#include "activation.cuh"

// What all layers of a network share: rows of a tile, and whether hidden layers have tanh, or else relu.
template <int Tile, bool IsTanh>
struct Tiles {
  static constexpr int tile = Tile, pitch = Tile + 4, fours = Tile / 4;
  static constexpr bool is_tanh = IsTanh;
};

constexpr int parts_of(int count, int most) { return (count + most - 1) / most; }
constexpr int whole_fours(int count) { return parts_of(count, 4) * 4; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

__device__ inline void read_four(const float* numbers, float (&read)[4]) {
  const float4 four = *(const float4*)numbers;
  read[0] = four.x, read[1] = four.y, read[2] = four.z, read[3] = four.w;
}

__device__ inline void write_four(float* numbers, const float (&four)[4]) {
  *(float4*)numbers = make_float4(four[0], four[1], four[2], four[3]);
}

// One layer, with the sums of its gradient that a lane has.
template <class Kind, int Inputs, int Outputs>
struct Layer {
  static constexpr int pitch = (Inputs + 1) | 1, shared = Outputs * pitch;  // of weights in shared memory
  // Weights and biases in the vector of all parameters, in which each begins at a multiple of four.
  static constexpr int biases = whole_fours(Inputs * Outputs), size = biases + whole_fours(Outputs);
  // Blocks of weights: neighbouring lanes have neighbouring inputs, and a block's are `across` apart.
  static constexpr int high = smaller(Outputs, 4), wide = smaller(Inputs, 4);
  static constexpr int down = parts_of(Outputs, high), across = parts_of(Inputs, wide);
  static constexpr int blocks = down * across, turns = parts_of(blocks, LANES);
  static constexpr int half_read = parts_of(Inputs, 2), half_given = parts_of(Outputs, 2);

  float weights[turns][high][wide] = {}, bias = 0.0f;

  static __device__ void load(const float* vector, float* loaded) {
    for (int i = lane(); i < Outputs * Inputs; i += LANES) loaded[i / Inputs * pitch + i % Inputs] = vector[i];
    for (int i = lane(); i < Outputs; i += LANES) loaded[i * pitch + Inputs] = vector[biases + i];
  }

  // inputs (Inputs, pitch) -> outputs (Outputs, pitch)
  template <bool IsHidden>
  static __device__ void forward(const float* loaded, const float* inputs, float* outputs) {
    constexpr int half = half_given;
    for (int item = lane(); item < Kind::fours * half; item += LANES) {
      const int rows = item % Kind::fours * 4, unit = item / Kind::fours, other = min(unit + half, Outputs - 1);
      const float *of_unit = loaded + unit * pitch, *of_other = loaded + other * pitch;
      float sums[4], others[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[k] = of_unit[Inputs], others[k] = of_other[Inputs];
#pragma unroll 4
      for (int i = 0; i < Inputs; ++i) {
        float four[4];
        read_four(inputs + i * Kind::pitch + rows, four);
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[k] += of_unit[i] * four[k], others[k] += of_other[i] * four[k];
      }
#pragma unroll
      for (int k = 0; IsHidden && k < 4; ++k) sums[k] = activated(sums[k], Kind::is_tanh), others[k] = activated(others[k], Kind::is_tanh);
      write_four(outputs + unit * Kind::pitch + rows, sums);
      if (unit + half < Outputs) write_four(outputs + other * Kind::pitch + rows, others);
    }
  }

  // Gradients (Outputs, pitch) before the activation -> those before the activation of the layer that gave the inputs, which are
  // written over them.
  static __device__ void through(const float* loaded, const float* gradients, float* inputs) {
    constexpr int half = half_read;
    for (int item = lane(); item < Kind::fours * half; item += LANES) {
      const int rows = item % Kind::fours * 4, unit = item / Kind::fours, other = min(unit + half, Inputs - 1);
      float sums[4] = {}, others[4] = {};
#pragma unroll 4
      for (int i = 0; i < Outputs; ++i) {
        float four[4];
        read_four(gradients + i * Kind::pitch + rows, four);
        const float of_unit = loaded[i * pitch + unit], of_other = loaded[i * pitch + other];
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[k] += of_unit * four[k], others[k] += of_other * four[k];
      }
      put_through(sums, inputs + unit * Kind::pitch + rows);
      if (unit + half < Inputs) put_through(others, inputs + other * Kind::pitch + rows);
    }
  }

  static __device__ void put_through(float (&gradients)[4], float* given) {
    float four[4];
    read_four(given, four);
#pragma unroll
    for (int k = 0; k < 4; ++k) four[k] = through_activation(gradients[k], four[k], Kind::is_tanh);
    write_four(given, four);
  }

  // Adds the rows of a tile to the sums. Blocks at the end repeat outputs and inputs, for nothing.
  __device__ void add_up(const float* gradients, const float* inputs) {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int block = min(lane() + turn * LANES, blocks - 1), output = block / across, input = block % across;
#pragma unroll 1
      for (int rows = 0; rows < Kind::tile; rows += 4) {
        float of_output[high][4], of_input[wide][4];
#pragma unroll
        for (int o = 0; o < high; ++o)
          read_four(gradients + min(output + o * down, Outputs - 1) * Kind::pitch + rows, of_output[o]);
#pragma unroll
        for (int i = 0; i < wide; ++i) read_four(inputs + min(input + i * across, Inputs - 1) * Kind::pitch + rows, of_input[i]);
#pragma unroll
        for (int o = 0; o < high; ++o) {
#pragma unroll
          for (int i = 0; i < wide; ++i) {
#pragma unroll
            for (int k = 0; k < 4; ++k) weights[turn][o][i] += of_output[o][k] * of_input[i][k];
          }
        }
      }
    }
    for (int rows = 0; lane() < Outputs && rows < Kind::tile; rows += 4) {
      float four[4];
      read_four(gradients + lane() * Kind::pitch + rows, four);
      bias += (four[0] + four[1]) + (four[2] + four[3]);
    }
  }

  // Writes the sums to where the layer has its part of a vector like that of all parameters, with 0 between its views.
  __device__ void give(float* vector) const {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int block = lane() + turn * LANES, output = block / across, input = block % across;
#pragma unroll
      for (int o = 0; o < high; ++o) {
#pragma unroll
        for (int i = 0; i < wide; ++i) {
          const int row = output + o * down, column = input + i * across;
          if (block < blocks && row < Outputs && column < Inputs) vector[row * Inputs + column] = weights[turn][o][i];
        }
      }
    }
    if (lane() < Outputs) vector[biases + lane()] = bias;
    if (lane() < biases - Inputs * Outputs) vector[Inputs * Outputs + lane()] = 0.0f;
    if (lane() < size - biases - Outputs) vector[biases + Outputs + lane()] = 0.0f;
  }
};

// Layers one behind the other: widths of what they read, of hidden layers, and of what they give.
template <class Rows, int Inputs, int Outputs, int... Others>
struct Layers {
  using Kind = Rows;
  using Next = Layers<Kind, Outputs, Others...>;
  static constexpr int weights = Layer<Kind, Inputs, Outputs>::shared + Next::weights;  // numbers in shared memory
  static constexpr int tile = Inputs + Next::tile, outputs = Inputs + Next::outputs;  // units of all layers, and before the last
  static constexpr int size = Layer<Kind, Inputs, Outputs>::size + Next::size;
  static constexpr int given = Next::given;

  Layer<Kind, Inputs, Outputs> own;
  Next next;

  static __device__ void load(const float* vector, float* loaded) {
    Layer<Kind, Inputs, Outputs>::load(vector, loaded);
    Next::load(vector + Layer<Kind, Inputs, Outputs>::size, loaded + Layer<Kind, Inputs, Outputs>::shared);
  }

  // From inputs at the start of `units` to all that layers give behind them.
  static __device__ void forward(const float* loaded, float* units) {
    Layer<Kind, Inputs, Outputs>::template forward<true>(loaded, units, units + Inputs * Kind::pitch);
    sync_env();  // orders the layer before what reads it
    Next::forward(loaded + Layer<Kind, Inputs, Outputs>::shared, units + Inputs * Kind::pitch);
  }

  // From the gradient at what the last layer gives, which stands in its place, back through all layers.
  template <bool IsFirst = true>
  __device__ void backward(const float* loaded, float* units) {
    float* outputs = units + Inputs * Kind::pitch;
    next.template backward<false>(loaded + Layer<Kind, Inputs, Outputs>::shared, outputs);
    own.add_up(outputs, units);
    if (IsFirst) return;
    sync_env();  // orders the reading of the inputs before what is written over them
    Layer<Kind, Inputs, Outputs>::through(loaded, outputs, units);
    sync_env();  // orders the gradients before what reads them
  }

  __device__ void give(float* vector) const {
    own.give(vector);
    next.give(vector + Layer<Kind, Inputs, Outputs>::size);
  }
};

template <class Rows, int Inputs, int Outputs>
struct Layers<Rows, Inputs, Outputs> {
  using Kind = Rows;
  static constexpr int weights = Layer<Kind, Inputs, Outputs>::shared, tile = Inputs + Outputs, outputs = Inputs;
  static constexpr int size = Layer<Kind, Inputs, Outputs>::size, given = Outputs;

  Layer<Kind, Inputs, Outputs> own;

  static __device__ void load(const float* vector, float* loaded) { Layer<Kind, Inputs, Outputs>::load(vector, loaded); }

  static __device__ void forward(const float* loaded, float* units) {
    Layer<Kind, Inputs, Outputs>::template forward<false>(loaded, units, units + Inputs * Kind::pitch);
    sync_env();  // orders the outputs before what reads them
  }

  template <bool IsFirst = true>
  __device__ void backward(const float* loaded, float* units) {
    float* outputs = units + Inputs * Kind::pitch;
    own.add_up(outputs, units);
    if (IsFirst) return;
    sync_env();  // orders the reading of the inputs before what is written over them
    Layer<Kind, Inputs, Outputs>::through(loaded, outputs, units);
    sync_env();  // orders the gradients before what reads them
  }

  __device__ void give(float* vector) const { own.give(vector); }
};

// The layers of a network with up to two hidden ones, whose width is 0 where there is none.
template <class Kind, int Inputs, int First, int Second, int Outputs>
struct Network {
  using Type = Layers<Kind, Inputs, First, Second, Outputs>;
};
template <class Kind, int Inputs, int First, int Outputs>
struct Network<Kind, Inputs, First, 0, Outputs> {
  using Type = Layers<Kind, Inputs, First, Outputs>;
};
template <class Kind, int Inputs, int Outputs>
struct Network<Kind, Inputs, 0, 0, Outputs> {
  using Type = Layers<Kind, Inputs, Outputs>;
};
