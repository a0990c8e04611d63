// Explorer as the reference draws it: every ray is tested against every line, and every texel is counted in every step.
// For comparison only. Rules, arrays and the kernels that move and wake agents are those of explorer.cu, which is put
// before this file.

#include "brute_view.cuh"

__device__ int look_around_by_force(const Scene& scene, unsigned char* seen_texels, float* rgb, float* depth) {
  const Surfaces surfaces = surfaces_of(scene);
  const int env = env_id(), first_texel = surfaces.first_texel[0];
  unsigned char* seen = seen_texels + env * 32 * SEEN_WORDS;
  show_by_force(camera_of(scene), surfaces, rgb + env * 3 * PIXELS, depth + env * PIXELS,
                [=](int texel) { seen[texel - first_texel] = 1; });
  ENV_SHARED(int, count, 1);
  if (lane() == 0) count[0] = 0;
  sync_env();  // orders what was seen, and the count before it grows
  int own = 0;
  for (int i = lane(); i < 32 * SEEN_WORDS; i += num_lanes()) own += seen[i];
  atomicAdd(&count[0], own);
  sync_env();  // orders counting before the count is read
  return count[0];
}

extern "C" __global__ void see_by_force(Scene scene, unsigned char* seen_texels, int* potential, float* observations_rgb,
                                        float* observations_depth, float* rewards, bool* terminated, bool* truncated,
                                        const int* timestep, int patience, int episode_length) {
  if (!is_active()) return;
  const int env = env_id();
  const int seen = look_around_by_force(scene, seen_texels, observations_rgb, observations_depth);
  if (lane() != 0) return;
  rewards[env] = (float)(seen - potential[env]) * (1.0f / 64.0f);
  potential[env] = seen;
  terminated[env] = timestep[env] >= seen + patience;
  truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void see_first_by_force(Scene scene, unsigned char* seen_texels, int* potential,
                                              float* observations_rgb, float* observations_depth) {
  if (!is_active()) return;
  const int env = env_id();
  for (int i = lane(); i < 32 * SEEN_WORDS; i += num_lanes()) seen_texels[env * 32 * SEEN_WORDS + i] = 0;
  sync_env();  // orders forgetting before seeing
  const int seen = look_around_by_force(scene, seen_texels, observations_rgb, observations_depth);
  if (lane() == 0) potential[env] = seen;
}
