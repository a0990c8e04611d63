// Keeps the memory of one group's agents at the start of each window, see windows.cu.
//
// Arrays: state (envs, COUNT, STATE_SIZE): after the latest step; row: the one that is written next; window_states
// (SLOTS, envs, CREW, STATE_SIZE), into which the group's agents go from CREW_FIRST on.
#include "replay.cuh"

// A memory is empty after the end of an episode, and where it is not finite: such an agent takes no part.
extern "C" __global__ void keep_states(const float* state, const int* row, const bool* terminated, const bool* truncated,
                                       const bool* agent_terminated, float* window_states, int num_envs) {
  if (row[0] % STRIDE != 0) return;
  const int env = env_id();
  const size_t place = ((size_t)(row[0] / STRIDE) * num_envs + env) * CREW + CREW_FIRST;
  for (int i = lane(); i < COUNT * STATE_SIZE; i += num_lanes()) {
    const int agent = AGENT_FIRST + AGENT_STRIDE * (i / STATE_SIZE);
    const bool begins = terminated[env] || truncated[env] || (LEAVING && agent_terminated[env * ALL_AGENTS + agent]);
    const float number = state[(size_t)env * COUNT * STATE_SIZE + i];
    window_states[place * STATE_SIZE + i] = begins || !is_finite(number) ? 0.0f : number;
  }
}
