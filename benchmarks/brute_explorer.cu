// Explorer as the reference draws it: every ray is tested against every line, and every texel is counted in every step.
// The rays of an env are shared among its threads, as there. For comparison only. Rules, arrays and the kernels that
// move and wake agents are those of explorer.cu, which is put before this file.

#include "brute_cast.cuh"

__device__ int look_around_by_force(const float2* positions, const float* angles, unsigned char* seen_texels, float* rgb,
                                    float* depth, const Surfaces& surfaces, float tan_half_fov) {
  const int env = env_id(), first_texel = surfaces.first_texel[0];
  const float2 ahead = direction_of(angles[env]);
  unsigned char* seen = seen_texels + env * 32 * SEEN_WORDS;
  for (int pixel = lane(); pixel < PIXELS; pixel += num_lanes()) {
    float red = 0.0f, green = 0.0f, blue = 0.0f, near = 0.0f;
    for (int i = 0; i < SUBSAMPLE; ++i) {
      const int number = pixel * SUBSAMPLE + i;
      const float y = tan_half_fov * (float)(RES - 2 * number - 1) / (float)RES;
      const float2 ray = make_float2(ahead.x - y * ahead.y, ahead.y + y * ahead.x);
      const Met met = cast(nothing_met(), surfaces.walls.ends, 0, surfaces.walls.count, positions[env], ray);
      if (met.line < 0) continue;
      const int texel = texel_at(surfaces, met.line, met.along);
      const float3 color = color_of(surfaces.texels[texel]);
      const float light = 1.0f - met.cosine * met.cosine;
      red += light * color.x;
      green += light * color.y;
      blue += light * color.z;
      near += nearness(met.distance);
      seen[texel - first_texel] = 1;
    }
    rgb[env * 3 * PIXELS + pixel] = red / SUBSAMPLE;
    rgb[env * 3 * PIXELS + PIXELS + pixel] = green / SUBSAMPLE;
    rgb[env * 3 * PIXELS + 2 * PIXELS + pixel] = blue / SUBSAMPLE;
    depth[env * PIXELS + pixel] = near / SUBSAMPLE;
  }
  ENV_SHARED(int, count, 1);
  if (lane() == 0) count[0] = 0;
  sync_env();  // orders what was seen, and the count before it grows
  int own = 0;
  for (int i = lane(); i < 32 * SEEN_WORDS; i += num_lanes()) own += seen[i];
  atomicAdd(&count[0], own);
  sync_env();  // orders counting before the count is read
  return count[0];
}

extern "C" __global__ void see_by_force(const float2* positions, const float* angles, unsigned char* seen_texels,
                                        int* potential, float* observations_rgb, float* observations_depth,
                                        float* rewards, bool* terminated, bool* truncated, const int* timestep,
                                        const int* plan, const float4* plan_walls, const int* plan_first_wall,
                                        const int* wall_first_texel, const unsigned* wall_texels, float tan_half_fov,
                                        int patience, int episode_length) {
  if (!is_active()) return;
  const int env = env_id();
  const Surfaces surfaces = surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels);
  const int seen = look_around_by_force(positions, angles, seen_texels, observations_rgb, observations_depth, surfaces,
                                        tan_half_fov);
  if (lane() != 0) return;
  rewards[env] = (float)(seen - potential[env]) * (1.0f / 64.0f);
  potential[env] = seen;
  terminated[env] = timestep[env] >= seen + patience;
  truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void see_first_by_force(const float2* positions, const float* angles, unsigned char* seen_texels,
                                              int* potential, float* observations_rgb, float* observations_depth,
                                              const int* plan, const float4* plan_walls, const int* plan_first_wall,
                                              const int* wall_first_texel, const unsigned* wall_texels,
                                              float tan_half_fov) {
  if (!is_active()) return;
  const int env = env_id();
  for (int i = lane(); i < 32 * SEEN_WORDS; i += num_lanes()) seen_texels[env * 32 * SEEN_WORDS + i] = 0;
  sync_env();  // orders forgetting before seeing
  const Surfaces surfaces = surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels);
  const int seen = look_around_by_force(positions, angles, seen_texels, observations_rgb, observations_depth, surfaces,
                                        tan_half_fov);
  if (lane() == 0) potential[env] = seen;
}
