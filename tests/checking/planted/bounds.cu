// Accesses beside arrays, and to other envs' parts of them.
#include <warpworld.cuh>

extern "C" __global__ void next_agent(float* x) {
  if (!is_active()) return;
  x[agent_index() + 1] = 2.0f;  // next_agent
}

extern "C" __global__ void agent_before(const float* x, float* y) {
  if (!is_active()) return;
  y[agent_index()] = x[agent_index() - 1];  // agent_before
}

extern "C" __global__ void far(float* x) {
  if (!is_active()) return;
  if (agent_id() == 1) x[agent_index() + 100000] = 2.0f;  // far
}

extern "C" __global__ void very_far(float* x) {
  if (!is_active()) return;
  if (env_id() == 1 && agent_id() == 2) x[agent_index() + (1l << 40)] = 2.0f;  // very_far
}

extern "C" __global__ void read_other(const float* x, float* y, int num_envs) {
  if (!is_active()) return;
  const int other = (env_id() + 1) % num_envs;
  y[agent_index()] = x[other * NUM_AGENTS + agent_id()];  // read_other
}

extern "C" __global__ void shared_end(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id() + 1] = x[agent_index()];  // shared_end
  y[agent_index()] = 1.0f;
}

extern "C" __global__ void atomic_end(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 3) atomicAdd(&hits[env_id() + 3], 1);  // atomic_end
}
