// Keeps the memory of one group's agents at the start of each window, see windows.cu.
//
// Arrays: state (envs, group_size, state_size): after the latest step; row: the one that is written next; window_states
// (slots, envs, policy_agents, state_size), into which the group's agents go from first_policy_agent on; with cutting,
// window_cuts (slots, envs, policy_agents): who was cut in the step before the window, so that its memory is emptied behind the first.
#include "states.cuh"

// Where an agent's episode or its part of it ends. Where agents may leave agent_terminated is read, with cutting agent_cut
// and agent_cut_before, see memory.py; else they are placeholders.
struct Ends {
  const bool* terminated;
  const bool* truncated;
  const bool* agent_terminated;
  const bool* agent_cut;
  const bool* agent_cut_before;
};

// The places that windows have for states: one for each agent of the policy, every `stride` rows.
struct Windows {
  int policy_agents;
  int first_policy_agent;
  int stride;
  bool cutting;

  __device__ size_t place(int row, int num_envs, int i) const {
    return ((size_t)(row / stride) * num_envs + env_id()) * policy_agents + first_policy_agent + i;
  }
};

// A memory is empty after the end of an episode, and where it is not finite: such an agent takes no part.
extern "C" __global__ void keep_states(Remembering group, Windows windows, Ends ends, const float* state, const int* row,
                                       float* window_states, bool* window_cuts, int num_envs) {
  if (row[0] % windows.stride != 0) return;
  for (int i = first_agent(); i < group.group_size; i += agents_at_once()) {
    const size_t place = windows.place(row[0], num_envs, i), agent = group.agent(i);
    const bool ended = group.has_ended(ends.terminated, ends.truncated, ends.agent_terminated, i);
    const bool begins = ended || (windows.cutting && ends.agent_cut_before[agent]);
    if (windows.cutting && first_number() == 0) window_cuts[place] = ends.agent_cut[agent] && !ended;
    for (int k = first_number(); k < group.state_size; k += numbers_at_once()) {
      const float number = state[group.state(i) + k];
      window_states[place * group.state_size + k] = begins || !is_finite(number) ? 0.0f : number;
    }
  }
}
