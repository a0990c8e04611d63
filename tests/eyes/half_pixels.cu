// What cameras show, as float and as half.
#include <half.cuh>
#include <look_around.cuh>

extern "C" __global__ void see(const float2* positions, const float* angles, float* rgb, float* depth, float* others,
                               __half* half_rgb, __half* half_depth, __half* half_others, const int* plan,
                               const float4* plan_walls, const int* plan_first_wall, const int* wall_first_texel,
                               const unsigned* wall_texels, const int4* plan_floor, const unsigned char* floor_light,
                               float tan_half_fov) {
  if (!is_active()) return;
  const Scene scene = scene_of(positions, angles, nullptr, plan, plan_walls, plan_first_wall, wall_first_texel,
                               wall_texels, plan_floor, floor_light, tan_half_fov);
  look_around<1>(scene, rgb, depth, others);
  sync_env();  // orders reading what a camera sees before the next one looks
  look_around<1>(scene, half_rgb, half_depth, half_others);
}
