// The kernel of the block AgentPixels: where the cameras of agents show other agents.
#pragma once

#include <look_around.cuh>

// Reads where agents are and look, and the plans; writes observations_agents.
extern "C" __global__ void see_agents(const float2* positions, const float* angles, const float* camera_angles,
                                      float* observations_agents, const int* plan, const float4* plan_walls,
                                      const int* plan_first_wall, const int* wall_first_texel,
                                      const unsigned* wall_texels, const int4* plan_floor,
                                      const unsigned char* floor_light, float tan_half_fov) {
  if (!is_active()) return;
  look_around<NUM_CAMERAS>(
      scene_of(positions, angles, camera_angles, plan, plan_walls, plan_first_wall, wall_first_texel, wall_texels,
               plan_floor, floor_light, tan_half_fov),
      Unseen(), Unseen(), observations_agents);
}
