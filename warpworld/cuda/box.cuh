// Shared by all kernels that act in a Box. ACTION_SIZE is the number of its dimensions; sampling.cuh explains the other
// constants.
//
// Arrays: box (4, ACTION_SIZE): centre, scale, low and high. An action is centre + scale * drawn, clipped to low and
// high. So -1 and 1 are the ends of a bounded dimension.
#pragma once

#include "sampling.cuh"

__device__ inline float in_box(const float* box, int i, float drawn) { return scaled_to_box<ACTION_SIZE>(box, i, drawn); }

// Uniformly between finite bounds, else from the standard normal distribution.
__device__ void draw_in_box(const float* box, Random& random, float* actions) {
  for (int i = 0; i < ACTION_SIZE; ++i) {
    const float low = box[2 * ACTION_SIZE + i], high = box[3 * ACTION_SIZE + i];
    const bool bounded = low > -INFINITY && high < INFINITY;
    const float drawn = bounded ? random.uniform(-1.0f, 1.0f) : random.normal();
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, drawn);
  }
}
