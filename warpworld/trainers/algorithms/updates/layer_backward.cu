// Backward through a linear layer and its activation, in one pass over the rows: the gradient before the activation, and sums
// for each env of the gradients of weights and biases.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses. The first `num_envs` envs work, and share
// tiles of TILE rows. A lane adds up the weights of OF_OUTPUTS outputs and OF_INPUTS inputs. IS_TANH: tanh, or else relu.
#include "activation.cuh"
#include "finite.cuh"

constexpr int OUTPUT_BLOCKS = (OUTPUTS + OF_OUTPUTS - 1) / OF_OUTPUTS, INPUT_BLOCKS = (INPUTS + OF_INPUTS - 1) / OF_INPUTS;
constexpr int PARTS = OUTPUT_BLOCKS * INPUT_BLOCKS;
// Numbers of a row in shared memory: lanes read whole blocks, of which the last may be longer than what is left.
constexpr int OUTPUT_PITCH = OUTPUT_BLOCKS * OF_OUTPUTS, INPUT_PITCH = INPUT_BLOCKS * OF_INPUTS;

// Reads COUNT numbers side by side, in vectors where that may be.
template <int COUNT>
__device__ void read_numbers(const float* numbers, float (&read)[COUNT]) {
  if constexpr (COUNT % 4 == 0) {
#pragma unroll
    for (int k = 0; k < COUNT; k += 4) {
      const float4 four = *(const float4*)(numbers + k);
      read[k] = four.x, read[k + 1] = four.y, read[k + 2] = four.z, read[k + 3] = four.w;
    }
  } else if constexpr (COUNT == 2) {
    const float2 two = *(const float2*)numbers;
    read[0] = two.x, read[1] = two.y;
  } else {
#pragma unroll
    for (int k = 0; k < COUNT; ++k) read[k] = numbers[k];
  }
}

// gradient, said and through (rows, OUTPUTS), fed (rows, INPUTS); found (num_envs, OUTPUTS * INPUTS + OUTPUTS): gradients of
// weights, and behind them those of biases. through is 0 where it is not needed.
extern "C" __global__ void backward(int64_t gradient, int64_t said, int64_t fed, int64_t through, int64_t found, int rows,
                                    int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(float4, of_outputs, TILE * OUTPUT_PITCH / 4);
  ENV_SHARED(float4, of_inputs, TILE * INPUT_PITCH / 4);
  float *outputs = (float*)of_outputs, *inputs = (float*)of_inputs;
  for (int done = 0; done < PARTS; done += num_lanes()) {  // once, but where lanes take turns
    const int part = min(done + lane(), PARTS - 1);        // a lane too many adds up what another one does, for nothing
    const int output = part / INPUT_BLOCKS * OF_OUTPUTS, input = part % INPUT_BLOCKS * OF_INPUTS;
    float weights[OF_OUTPUTS][OF_INPUTS] = {}, biases[OF_OUTPUTS] = {};
    for (int first = env_id() * TILE; first < rows; first += num_envs * TILE) {
      const int count = min(TILE, rows - first);
      for (int i = lane(); i < TILE * OUTPUT_PITCH; i += num_lanes()) {
        const int row = i / OUTPUT_PITCH, unit = i % OUTPUT_PITCH;
        const size_t place = (size_t)(first + row) * OUTPUTS + unit;
        float own = 0.0f;
        if (row < count && unit < OUTPUTS) {
          own = through_activation(((const float*)gradient)[place], ((const float*)said)[place], IS_TANH);
          if (through) ((float*)through)[place] = own;
        }
        outputs[i] = own;
      }
      for (int i = lane(); i < TILE * INPUT_PITCH; i += num_lanes()) {
        const int row = i / INPUT_PITCH, number = i % INPUT_PITCH;
        const bool is_there = row < count && number < INPUTS;
        inputs[i] = is_there ? ((const float*)fed)[(size_t)(first + row) * INPUTS + number] : 0.0f;
      }
      sync_env();  // orders the rows before lanes read those of others
#pragma unroll 4
      for (int row = 0; row < TILE; ++row) {
        float of_output[OF_OUTPUTS], of_input[OF_INPUTS];
        read_numbers(outputs + row * OUTPUT_PITCH + output, of_output);
        read_numbers(inputs + row * INPUT_PITCH + input, of_input);
#pragma unroll
        for (int o = 0; o < OF_OUTPUTS; ++o) {
#pragma unroll
          for (int i = 0; i < OF_INPUTS; ++i) weights[o][i] += of_output[o] * of_input[i];
          biases[o] += of_output[o];
        }
      }
      sync_env();  // orders the reading before the next rows
    }
    if (done + lane() >= PARTS) continue;
    float* own = (float*)found + (size_t)env_id() * (OUTPUTS * INPUTS + OUTPUTS);
    for (int o = 0; o < OF_OUTPUTS && output + o < OUTPUTS; ++o) {
      for (int i = 0; i < OF_INPUTS && input + i < INPUTS; ++i) own[(output + o) * INPUTS + input + i] = weights[o][i];
      if (input == 0) own[OUTPUTS * INPUTS + output + o] = biases[o];
    }
  }
}
