// Values that should not be in an array.
#include <warpworld.cuh>

extern "C" __global__ void not_a_number(float* x, const int* timestep) {
  if (!is_active()) return;
  const float late = (float)(timestep[env_id()] - 4);
  if (agent_id() == 1) x[agent_index()] = late / fabsf(late);  // not_a_number
}

extern "C" __global__ void infinite(float* x, const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 2) x[agent_index()] = 1.0f / (float)(timestep[env_id()] - 4);  // infinite
}

extern "C" __global__ void bounds(float* side) {
  if (!is_active()) return;
  side[agent_index()] += agent_id() == 3 ? 0.25f : 0.0f;  // bounds
}

extern "C" __global__ void observation(float* observations, const int* timestep) {
  if (!is_active()) return;
  observations[agent_index()] = 0.5f * (float)timestep[env_id()];  // observation
}
