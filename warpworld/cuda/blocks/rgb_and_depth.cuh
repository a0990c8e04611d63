// The kernel of the blocks RGB and Depth together: what the cameras of agents show.
#pragma once

#include <look_around.cuh>

// Reads the scene; writes observations_rgb and observations_depth.
extern "C" __global__ void see_rgb_and_depth(Scene scene, const float* camera_angles, Pixel* observations_rgb,
                                             Pixel* observations_depth) {
  if (!is_active()) return;
  look_around<NUM_CAMERAS>(scene, observations_rgb, observations_depth, Unseen(), camera_angles);
}
