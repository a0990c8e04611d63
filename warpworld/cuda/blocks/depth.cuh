// The kernel of the block Depth: what the cameras of agents show.
#pragma once

#include "look_around.cuh"

// Reads where agents are and look, and the plans; writes observations_depth.
extern "C" __global__ void see_depth(const float2* positions, const float* angles, const float* camera_angles,
                                     float* observations_depth, const int* plan, const float4* plan_walls,
                                     const int* plan_first_wall, const int* wall_first_texel,
                                     const unsigned* wall_texels, const int4* plan_floor,
                                     const unsigned char* floor_light, float tan_half_fov) {
  if (!is_active()) return;
  const int env = env_id();
  const Scene scene{positions, angles, camera_angles,
                    surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels),
                    floor_of(plan[env], plan_floor, floor_light), tan_half_fov};
  look_around(scene, Unseen(), observations_depth + env * NUM_AGENTS * NUM_CAMERAS * PIXELS);
}
