// The kernel of the block AgentPixels: where the cameras of agents show other agents.
#pragma once

#include <look_around.cuh>

// Reads the scene; writes observations_agents.
extern "C" __global__ void see_agents(Scene scene, const float* camera_angles, Pixel* observations_agents) {
  if (!is_active()) return;
  look_around<NUM_CAMERAS>(scene, Unseen(), Unseen(), observations_agents, camera_angles);
}
