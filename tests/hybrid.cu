// Agents see a side, 0 to 2, and a place, -1 to 1. A step is worth something if an agent moves to the side, and the more
// the nearer it reaches to twice the place. All are drawn anew in each step; an episode has 8 steps.
#include <warpworld.cuh>

__device__ void look(float* observations) {
  Random random = Random::agent();
  float* own = observations + agent_index() * 4;
  const int side = random.below(3);
  for (int i = 0; i < 3; ++i) own[i] = i == side;
  own[3] = random.uniform(-1.0f, 1.0f);
}

extern "C" __global__ void reset(float* observations) {
  if (is_active()) look(observations);
}

extern "C" __global__ void step(const int* actions_move, const int* actions_arm_grip, const float* actions_arm_reach,
                                float* observations, float* rewards, int* gripped, bool* terminated,
                                const int* timestep) {
  if (!is_active()) return;
  const float* own = observations + agent_index() * 4;
  const float* reach = actions_arm_reach + agent_index() * 2;
  const bool moves = own[actions_move[agent_index()]] == 1.0f;
  const float distance = fabsf(reach[0] - 2.0f * own[3]);
  rewards[agent_index()] = moves ? fmaxf(0.0f, 1.0f - distance) : 0.0f;
  const int* grip = actions_arm_grip + agent_index() * 2;
  gripped[agent_index()] = grip[0] + 2 * grip[1];
  sync_env();  // every agent has read what it saw before it sees anew
  look(observations);
  if (agent_id() == 0) terminated[env_id()] = timestep[env_id()] + 1 >= 8;
}
