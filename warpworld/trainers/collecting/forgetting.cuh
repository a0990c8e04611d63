// When agents forget: their episode, or their part of it, ended in the latest step, or they were cut in the step before that.
#pragma once

#include <states.cuh>

// Where that is found: of envs (envs,), of agents (envs, all of an env). An array that a world does not have is not read.
struct Ends {
  const bool* terminated;
  const bool* truncated;
  const bool* agent_terminated;
  const bool* agent_cut_before;
  bool* agent_cut;
};

// Empties what the agents of a group remember, state (envs, group_size, state_size), by all lanes of the env; an agent that
// forgets since its episode ended is cut no more. Cuts: whether agents are cut while their env continues.
template <bool Cuts>
__device__ void forget_agents(const Remembering& group, const Ends& ends, float* state) {
  for (int i = first_agent(); i < group.group_size; i += agents_at_once()) {
    const bool ended = group.has_ended(ends.terminated, ends.truncated, ends.agent_terminated, i);
    float* const own = state + group.state(i);
    if (ended || (Cuts && ends.agent_cut_before[group.agent(i)]))
      for (int k = first_number(); k < group.state_size; k += numbers_at_once()) own[k] = 0.0f;
    if (Cuts && ended && first_number() == 0) ends.agent_cut[group.agent(i)] = false;
  }
}
