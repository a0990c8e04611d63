// Shared by all kernels that act by choices. LOGITS is the number of choices of all heads; HEAD_SIZE is the size of
// every head, or 0 where they differ: loops of a known length are unrolled. Where the env forbids choices, an agent has
// MASK_SIZE flags; the first LOGITS are the group's. The other constants are those of sampling.cuh.
#pragma once

#include "sampling.cuh"

__device__ inline int size_of(const int* head_sizes, int head) { return HEAD_SIZE ? HEAD_SIZE : head_sizes[head]; }

// The policy's outputs for the agent's choices, head after head.
__device__ inline const float* own_outputs(const float* outputs) { return outputs + (size_t)agent_index() * LOGITS; }

__device__ inline const bool* own_mask(const bool* action_mask) {
  return action_mask + ((size_t)env_id() * WORLD_AGENTS + number_in_env()) * MASK_SIZE;
}
