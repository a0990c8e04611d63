// Chain: a row of states, from the first of which one agent walks. Right (1) leads to the next state, left (0) back to the
// first; the last state pays 1 and ends the episode.
//
// Arrays: place (envs,) from 0; observations (envs, 1, length): a one at the place. The agent writes everything. Read:
// actions (envs, 1, 1).
#include <warpworld.cuh>

__device__ void show(int place, float* observations) {
  float* seen = observations + agent_index() * OBSERVATION_SIZE;
  for (int k = 0; k < OBSERVATION_SIZE; ++k) seen[k] = k == place ? 1.0f : 0.0f;
}

extern "C" __global__ void step(int* place, const int* actions, const int* timestep, float* observations, float* rewards,
                                bool* terminated, bool* truncated, int length, int episode_length) {
  if (!is_active()) return;  // guard
  const int env = env_id(), next = actions[agent_index()] == 1 ? place[env] + 1 : 0;
  const bool at_end = next == length - 1;
  place[env] = next;
  rewards[agent_index()] = at_end ? 1.0f : 0.0f;
  terminated[env] = at_end;
  truncated[env] = timestep[env] >= episode_length;
  show(next, observations);
}

extern "C" __global__ void reset(int* place, float* observations) {
  if (!is_active()) return;  // guard
  place[env_id()] = 0;
  show(0, observations);
}
