// Waypoint and PointGoal as the reference draws them: every ray is tested against every line. For comparison only. Rules,
// arrays and the kernels that move and wake agents are those of waypoint.cu, which is put before this file.

#include "brute_view.cuh"

extern "C" __global__ void see_by_force(const float2* positions, const float* angles, float* observations_rgb,
                                        float* observations_depth, const int* plan, const float4* plan_walls,
                                        const int* plan_first_wall, const int* wall_first_texel,
                                        const unsigned* wall_texels, float tan_half_fov) {
  if (!is_active()) return;
  const int env = env_id();
  const Surfaces surfaces = surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels);
  show_by_force(positions[env], direction_of(angles[env]), surfaces, tan_half_fov, observations_rgb + env * 3 * PIXELS,
                observations_depth + env * PIXELS, [](int) {});
}
