// The kernel of the block RGB: what the cameras of agents show.
#pragma once

#include <look_around.cuh>

// Reads the scene; writes observations_rgb.
extern "C" __global__ void see_rgb(Scene scene, const float* camera_angles, Pixel* observations_rgb) {
  if (!is_active()) return;
  look_around<NUM_CAMERAS>(scene, observations_rgb, Unseen(), Unseen(), camera_angles);
}
