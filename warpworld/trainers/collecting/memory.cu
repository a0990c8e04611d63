// Empties what the agents of one group remember, before they act: where their episode, or their part of it, ended in the
// latest step, and where they were cut in the step before that.
//
// Arrays: state (envs, group_size, state_size); agent_terminated, agent_cut, agent_cut_before (envs, world_agents), see
// memory.py.
#include "forgetting.cuh"

extern "C" __global__ void forget(Remembering group, const bool* terminated, const bool* truncated,
                                  const bool* agent_terminated, float* state) {
  forget_agents<false>(group, Ends{terminated, truncated, agent_terminated, nullptr, nullptr}, state);
}

// In a world whose agents are cut while their env continues.
extern "C" __global__ void forget_cut(Remembering group, const bool* terminated, const bool* truncated,
                                      const bool* agent_terminated, const bool* agent_cut_before, bool* agent_cut,
                                      float* state) {
  forget_agents<true>(group, Ends{terminated, truncated, agent_terminated, agent_cut_before, agent_cut}, state);
}
