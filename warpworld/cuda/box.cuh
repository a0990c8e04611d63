// Shared by all kernels that act in a Box. ACTION_SIZE is the number of its dimensions; sampling.cuh explains the other
// constants.
//
// Arrays: box (4, ACTION_SIZE): centre, scale, low and high. An action is centre + scale * drawn, clipped to low and
// high. So -1 and 1 are the ends of a bounded dimension.
#pragma once

#include "sampling.cuh"

__device__ inline float in_box(const float* box, int i, float drawn) { return scaled_to_box<ACTION_SIZE>(box, i, drawn); }

__device__ inline void draw_in_box(const float* box, Random& random, float* actions) {
  draw_at_random<ACTION_SIZE>(box, random, actions + action_index() * ACTION_SIZE);
}
