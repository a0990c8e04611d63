// Agents walk on multiples of 1/8, and see where they are: what they see is the same number in float32 and in float16.
#include <half.cuh>

__device__ float place_of(const float* x, int agent) { return x[env_id() * NUM_AGENTS + agent]; }

template <class Number>
__device__ void look(const float* x, Number* seen) {
  for (int agent = 0; agent < NUM_AGENTS; ++agent) seen[agent_index() * NUM_AGENTS + agent] = place_of(x, agent);
}

__device__ void walk(float* x, const int* actions, const int* timestep, float* rewards, bool* truncated) {
  x[agent_index()] += 0.125f * (float)(actions[agent_index()] - 1);
  rewards[agent_index()] = -x[agent_index()] * x[agent_index()];
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] == 5;
}

__device__ void place(float* x) { x[agent_index()] = 0.125f * (float)Random::agent().below(17) - 1.0f; }

extern "C" __global__ void step_in_float(float* x, const int* actions, const int* timestep, float* observations,
                                         float* rewards, bool* truncated) {
  if (!is_active()) return;
  walk(x, actions, timestep, rewards, truncated);
  sync_env();  // orders all places before they are seen
  look(x, observations);
}

extern "C" __global__ void step_in_half(float* x, const int* actions, const int* timestep, __half* observations,
                                        float* rewards, bool* truncated) {
  if (!is_active()) return;
  walk(x, actions, timestep, rewards, truncated);
  sync_env();  // orders all places before they are seen
  look(x, observations);
}

extern "C" __global__ void reset_in_float(float* x, float* observations) {
  if (!is_active()) return;
  place(x);
  sync_env();  // orders all places before they are seen
  look(x, observations);
}

extern "C" __global__ void reset_in_half(float* x, __half* observations) {
  if (!is_active()) return;
  place(x);
  sync_env();  // orders all places before they are seen
  look(x, observations);
}
