// Empties what the agents of one group remember, before they act: where their episode, or their part of it, ended in the
// latest step, and where they were cut in the step before that. Constants: COUNT agents, the first of them AGENT_FIRST of
// the env's, AGENT_STRIDE apart; STATE_SIZE numbers in a state; LEAVING: whether agent_terminated is read.
//
// Arrays: state (envs, COUNT, STATE_SIZE); agent_terminated, agent_cut, agent_cut_before (envs, NUM_AGENTS), see memory.py.
#include "forgetting.cuh"

template <bool Cuts>
__device__ void forget_group(const Ends& ends, float* state) {
  forget_agents<COUNT, STATE_SIZE, NUM_AGENTS, AGENT_FIRST, AGENT_STRIDE, LEAVING, Cuts>(
      ends, state + (size_t)env_id() * COUNT * STATE_SIZE);
}

extern "C" __global__ void forget(const bool* terminated, const bool* truncated, const bool* agent_terminated,
                                  float* state) {
  forget_group<false>(Ends{terminated, truncated, agent_terminated, nullptr, nullptr}, state);
}

// In a world whose agents are cut while their env continues.
extern "C" __global__ void forget_cut(const bool* terminated, const bool* truncated, const bool* agent_terminated,
                                      const bool* agent_cut_before, bool* agent_cut, float* state) {
  forget_group<true>(Ends{terminated, truncated, agent_terminated, agent_cut_before, agent_cut}, state);
}
