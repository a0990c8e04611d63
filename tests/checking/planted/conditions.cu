// Results that depend on the order of agents, on the number of envs, or on how envs are packed.
#include <warpworld.cuh>

extern "C" __global__ void first_come(int* owner, int* hits) {
  if (!is_active()) return;
  if (atomicCAS(&owner[env_id()], -1, agent_id()) == -1) hits[env_id()] = agent_id();
}

extern "C" __global__ void float_sum(float* sum) {
  if (!is_active()) return;
  atomicAdd(&sum[env_id()], 0.1f * (float)(agent_id() + 1));
}

extern "C" __global__ void crowd(float* x, int num_envs) {
  if (!is_active()) return;
  x[agent_index()] = (float)num_envs;
}

extern "C" __global__ void packed(float* x) {
  if (!is_active()) return;
  x[agent_index()] = LANES_SIDE_BY_SIDE ? 1.0f : 2.0f;
}
