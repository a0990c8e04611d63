// Empties what the agents of one group remember, before they act: where their episode, or their part of it, ended in the
// latest step, and where they were cut in the step before that.
//
// Arrays: state (envs, group_size, state_size); agent_terminated, agent_cut, agent_cut_before (envs, world_agents), see
// memory.py.
#include "states.cuh"

__device__ void empty(float* own, int state_size) {
  for (int k = first_number(); k < state_size; k += numbers_at_once()) own[k] = 0.0f;
}

extern "C" __global__ void forget(Remembering group, const bool* terminated, const bool* truncated,
                                  const bool* agent_terminated, float* state) {
  for (int i = first_agent(); i < group.group_size; i += agents_at_once())
    if (group.has_ended(terminated, truncated, agent_terminated, i)) empty(state + group.state(i), group.state_size);
}

// Of agents that are cut while their env continues; one that is emptied now is cut no more.
extern "C" __global__ void forget_cut(Remembering group, const bool* terminated, const bool* truncated,
                                      const bool* agent_terminated, const bool* agent_cut_before, bool* agent_cut,
                                      float* state) {
  for (int i = first_agent(); i < group.group_size; i += agents_at_once()) {
    const size_t agent = group.agent(i);
    const bool ended = group.has_ended(terminated, truncated, agent_terminated, i);
    if (ended || agent_cut_before[agent]) empty(state + group.state(i), group.state_size);
    if (ended && first_number() == 0) agent_cut[agent] = false;
  }
}
