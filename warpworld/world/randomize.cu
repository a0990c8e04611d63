// Draws a parameter anew for each env that is reset. One launch per parameter, before the environment's own resets.
//
// Arrays: values (envs,): one parameter, written by agent 0 where its env takes part. All launches of a world have one
// number and so the same random numbers: `skip` is how many belong to parameters before this one, so that a
// parameter's values do not depend on which others are drawn.
#include <warpworld.cuh>

__device__ Random behind(int skip) {
  Random random = Random::env();
  for (int drawn = 0; drawn < skip; ++drawn) random.bits();
  return random;
}

// Whole numbers low .. high, both included.
__device__ int whole_number(int low, int high, int skip) {
  const uint32_t others = (uint32_t)high - (uint32_t)low;
  Random random = behind(skip);
  const uint32_t drawn = others == 0xFFFFFFFFu ? random.bits() : random.below(others + 1u);
  return (int)((uint32_t)low + drawn);
}

extern "C" __global__ void draw_floats(float* values, float low, float high, int skip) {
  if (!is_active() || agent_id() != 0) return;
  values[env_id()] = behind(skip).uniform(low, high);
}

extern "C" __global__ void draw_ints(int* values, int low, int high, int skip) {
  if (!is_active() || agent_id() != 0) return;
  values[env_id()] = whole_number(low, high, skip);
}

extern "C" __global__ void draw_bools(bool* values, bool low, bool high, int skip) {
  if (!is_active() || agent_id() != 0) return;
  values[env_id()] = whole_number(low, high, skip) != 0;
}
