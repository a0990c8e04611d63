// Code that a check of a few steps does not come to.
#include <warpworld.cuh>

__device__ float doubled(float value) {
  if (value > 1000.0f) {
    value = 1000.0f;                    // in a helper
    value -= 1.0f;                      // in a helper, its end
  }
  return 2.0f * value;
}

__device__ float never_called(float value) {  // never called
  return value + 1.0f;
}  // never called, its end

extern "C" __global__ void partly(float* x, const int* timestep) {
  if (!is_active()) return;
  if (timestep[env_id()] > 1000) {
    x[agent_index()] = never_called(1.0f);  // in a branch

    return;                                 // in a branch, its end
  }
  const float own = timestep[env_id()] > 1000 ? 1.0f : 0.0f;
  x[agent_index()] = doubled(own);
  if (timestep[env_id()] == 1000) x[agent_index()] = 5.0f;
  for (int k = 1000; k < timestep[env_id()]; ++k)
    x[agent_index()] += (float)k;  // in a loop
}

extern "C" __global__ void again(float* y) {
  if (!is_active()) return;
  y[agent_index()] = doubled(1.0f);
}

extern "C" __global__ void whole(float* x) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
}
