#include <warpworld.cuh>

extern "C" __global__ void step(float* x, const float* gravity, const int* lives, const bool* windy,
                                const int* actions, float* observations, float* rewards, bool* terminated,
                                bool* truncated, const int* timestep, float scale) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id();
  x[i] += gravity[env] * scale + (windy[env] ? 1.0f : 0.0f) + (float)actions[i];
  observations[i] = x[i];
  rewards[i] = x[i] * (float)lives[env];
  if (agent_id() != 0) return;
  terminated[env] = Random::env().below(8u) == 0u;
  truncated[env] = timestep[env] >= 9;
}

extern "C" __global__ void reset(float* x, float* observations, const float* gravity) {
  if (!is_active()) return;
  x[agent_index()] = observations[agent_index()] = gravity[env_id()] + Random::agent().uniform();
}
