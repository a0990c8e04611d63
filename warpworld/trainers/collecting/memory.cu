// Empties what the agents of one group remember, before they act: where their episode, or their part of it, ended in the
// latest step, and where they were cut in the step before that. Constants: COUNT agents, the first of them AGENT_FIRST of
// the env's, AGENT_STRIDE apart; STATE_SIZE numbers in a state; LEAVING: whether agent_terminated is read.
//
// Arrays: state (envs, COUNT, STATE_SIZE); agent_terminated, agent_cut, agent_cut_before (envs, NUM_AGENTS), see memory.py.
#include <warpworld.cuh>

__device__ inline int agent_of(int i) { return env_id() * NUM_AGENTS + AGENT_FIRST + AGENT_STRIDE * (i / STATE_SIZE); }

__device__ inline bool has_ended(const bool* terminated, const bool* truncated, const bool* agent_terminated, int agent) {
  return terminated[env_id()] || truncated[env_id()] || (LEAVING && agent_terminated[agent]);
}

extern "C" __global__ void forget(const bool* terminated, const bool* truncated, const bool* agent_terminated,
                                  float* state) {
  float* own = state + (size_t)env_id() * COUNT * STATE_SIZE;
  for (int i = lane(); i < COUNT * STATE_SIZE; i += num_lanes())
    if (has_ended(terminated, truncated, agent_terminated, agent_of(i))) own[i] = 0.0f;
}

// Of agents that are cut while their env continues; one that is emptied now is cut no more.
extern "C" __global__ void forget_cut(const bool* terminated, const bool* truncated, const bool* agent_terminated,
                                      const bool* agent_cut_before, bool* agent_cut, float* state) {
  float* own = state + (size_t)env_id() * COUNT * STATE_SIZE;
  for (int i = lane(); i < COUNT * STATE_SIZE; i += num_lanes()) {
    const int agent = agent_of(i);
    const bool ended = has_ended(terminated, truncated, agent_terminated, agent);
    if (ended || agent_cut_before[agent]) own[i] = 0.0f;
    if (ended && i % STATE_SIZE == 0) agent_cut[agent] = false;
  }
}
