// Keeps the memory of one group's agents at the start of each window, see windows.cu.
//
// Arrays: state (envs, COUNT, STATE_SIZE): after the latest step; row: the one that is written next; window_states
// (SLOTS, envs, POLICY_AGENTS, STATE_SIZE), into which the group's agents go from FIRST_POLICY_AGENT on; with CUTTING,
// window_cuts (SLOTS, envs, POLICY_AGENTS): who was cut in the step before the window, so that its memory is emptied behind the first.
#include "replay.cuh"

// Where an agent's episode or its part of it ends. With LEAVING agent_terminated is read, with CUTTING agent_cut and
// agent_cut_before, see memory.py; else they are placeholders.
struct Ends {
  const bool* terminated;
  const bool* truncated;
  const bool* agent_terminated;
  const bool* agent_cut;
  const bool* agent_cut_before;

  __device__ bool are_now(int env, size_t item) const {
    return terminated[env] || truncated[env] || (LEAVING && agent_terminated[item]);
  }
};

// A memory is empty after the end of an episode, and where it is not finite: such an agent takes no part.
extern "C" __global__ void keep_states(const float* state, const int* row, Ends ends, float* window_states, bool* window_cuts,
                                       int num_envs) {
  if (row[0] % STRIDE != 0) return;
  const int env = env_id();
  const size_t place = ((size_t)(row[0] / STRIDE) * num_envs + env) * POLICY_AGENTS + FIRST_POLICY_AGENT;
  for (int i = lane(); i < COUNT * STATE_SIZE; i += num_lanes()) {
    const int agent = AGENT_FIRST + AGENT_STRIDE * (i / STATE_SIZE);
    const size_t item = (size_t)env * ALL_AGENTS + agent;
    const bool ended = ends.are_now(env, item), begins = ended || (CUTTING && ends.agent_cut_before[item]);
    if (CUTTING && i % STATE_SIZE == 0) window_cuts[place + i / STATE_SIZE] = ends.agent_cut[item] && !ended;
    const float number = state[(size_t)env * COUNT * STATE_SIZE + i];
    window_states[place * STATE_SIZE + i] = begins || !is_finite(number) ? 0.0f : number;
  }
}
