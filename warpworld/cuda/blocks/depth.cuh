// The kernel of the block Depth: what the cameras of agents show.
#pragma once

#include <look_around.cuh>

// Reads the scene; writes observations_depth.
extern "C" __global__ void see_depth(Scene scene, const float* camera_angles, Pixel* observations_depth) {
  if (!is_active()) return;
  look_around<NUM_CAMERAS>(scene, Unseen(), observations_depth, Unseen(), camera_angles);
}
