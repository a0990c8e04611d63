// Two groups with observations and actions of their own layouts; see Relay in small_worlds.py.
#include <warpworld.cuh>

// (timestep, env, agent, 0, ...)
__device__ void observe(float* observations_left, float* observations_right, int timestep) {
  const int agent = agent_id(), member = agent - RIGHT_FIRST;
  float* left = observations_left + (size_t)(env_id() * LEFT_COUNT + agent) * OBSERVATION_SIZE_LEFT;
  float* right = observations_right + (size_t)(env_id() * RIGHT_COUNT + member) * OBSERVATION_SIZE_RIGHT;
  float* mine = agent < LEFT_COUNT ? left : right;
  const int size = agent < LEFT_COUNT ? OBSERVATION_SIZE_LEFT : OBSERVATION_SIZE_RIGHT;
  for (int i = 0; i < size; ++i) mine[i] = i == 0 ? (float)timestep : i == 1 ? (float)env_id() : i == 2 ? (float)agent : 0.0f;
}

extern "C" __global__ void step(const int* actions_left, const int* actions_right, const int* timestep,
                                float* observations_left, float* observations_right, float* rewards, bool* truncated,
                                bool* agent_terminated, bool* agent_mask, int leave_at, int episode_length) {
  if (!is_active()) return;  // guard
  const int agent = agent_id(), i = agent_index(), now = timestep[env_id()];
  const bool is_left = agent < LEFT_COUNT;
  const int action = is_left ? actions_left[env_id() * LEFT_COUNT + agent]
                             : actions_right[(env_id() * RIGHT_COUNT + agent - RIGHT_FIRST) * 2];
  const int last = is_left && leave_at ? leave_at + agent : episode_length;
  agent_mask[i] = now <= last;
  agent_terminated[i] = now == last && is_left && leave_at;
  rewards[i] = now <= last ? (float)(now + 10 * agent + 100 * action) : 1e6f;
  observe(observations_left, observations_right, now);
  if (agent == 0) truncated[env_id()] = now == episode_length;
}

extern "C" __global__ void reset(float* observations_left, float* observations_right) {
  if (!is_active()) return;  // guard
  observe(observations_left, observations_right, 0);
}
