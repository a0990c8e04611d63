// Envs whose steps take as long as tests want: each waits until its gate is open.
//
// Arrays: gate (envs,) int32, 0 while closed; sum (envs,) uint32 of what has happened; observations (envs, 1, 1),
// rewards (envs, 1), terminated and truncated (envs,). Read: actions (envs, 1, 1), timestep (envs,).
#include <warpworld.cuh>

__device__ void show(const unsigned* sum, float* observations) { observations[agent_index()] = (float)(sum[env_id()] >> 8); }

extern "C" __global__ void step(const int* gate, const int* actions, const int* timestep, unsigned* sum,
                                float* observations, float* rewards, bool* terminated, bool* truncated) {
  if (!is_active()) return;  // guard
  const volatile int* open = gate;
  while (open[env_id()] == 0) {}
  const int action = actions[agent_index()];
  assert(action != 2);
  Random random = Random::agent();
  const int turns = random.below(4000);
  unsigned value = sum[env_id()] + (unsigned)action;
  for (int k = 0; k < turns; ++k) value = 1664525u * value + 1013904223u;
  sum[env_id()] = value;
  rewards[agent_index()] = (float)(value >> 24);
  terminated[env_id()] = value % 7u == 0u;
  truncated[env_id()] = timestep[env_id()] >= 9;
  show(sum, observations);
}

extern "C" __global__ void reset(unsigned* sum, float* observations) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  sum[env_id()] = (unsigned)random.below(1 << 30);
  show(sum, observations);
}
