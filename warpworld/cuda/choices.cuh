// Shared by all kernels that act by choices. NUM_HEADS, LOGITS and HEAD_SIZE are what drawing.cuh calls count, choices
// and each of Heads. Where the env forbids choices, an agent has MASK_SIZE flags; the first LOGITS are the group's. The
// other constants are those of sampling.cuh.
#pragma once

#include "sampling.cuh"

using OwnHeads = Heads<NUM_HEADS, LOGITS, HEAD_SIZE>;

__device__ inline int size_of(const int* head_sizes, int head) { return OwnHeads::size(head_sizes, head); }

// The policy's outputs for the agent's choices, head after head.
__device__ inline const float* own_outputs(const float* outputs) { return outputs + (size_t)agent_index() * LOGITS; }

__device__ inline const bool* own_mask(const bool* action_mask) {
  return action_mask + ((size_t)env_id() * WORLD_AGENTS + number_in_env()) * MASK_SIZE;
}
