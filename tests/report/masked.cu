#include <warpworld.cuh>

// Agent 1 takes part in the first two steps of three; what it is given afterwards does not count.
extern "C" __global__ void step(const int* timestep, float* rewards, bool* agent_mask, bool* truncated) {
  if (!is_active()) return;
  const int now = timestep[env_id()];
  agent_mask[agent_index()] = agent_id() == 0 || now <= 2;
  rewards[agent_index()] = (float)now;
  if (agent_id() == 0) truncated[env_id()] = now == 3;
}

extern "C" __global__ void reset(bool* agent_mask, float* observations) {
  if (!is_active()) return;
  agent_mask[agent_index()] = false;  // so that one that reads the mask after the reset counts nothing
  observations[agent_index()] = 0.0f;
}
