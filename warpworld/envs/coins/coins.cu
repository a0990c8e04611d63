// Coins: two agents, the matcher (0) and the hider (1), turn their coins at the same time: heads (0) or tails (1).
//
// Arrays: observations (envs, 2, 4) of the round before, zeros in the first: a one at the own coin's side, and one at the
// other's. Each agent writes its own. Read: actions (envs, 2, 1); heads, tails (envs,) what the hider pays the matcher
// where both coins show that side; where they differ, the matcher pays 1.
#include <script.cuh>
#include <warpworld.cuh>

struct Pays {
  const float *heads, *tails;
};

// Shows both coins; -1 where there has been no round.
__device__ void show(int own, int other, float* observations) {
  float* seen = observations + 4 * (size_t)agent_index();
  for (int side = 0; side < 2; ++side) {
    seen[side] = own == side ? 1.0f : 0.0f;
    seen[2 + side] = other == side ? 1.0f : 0.0f;
  }
}

extern "C" __global__ void step(const int* actions, Pays pays, const int* timestep, float* observations, float* rewards,
                                bool* truncated, int episode_length) {
  if (!is_active()) return;  // guard
  const int env = env_id(), is_hider = agent_id();
  const int own = actions[2 * env + is_hider], other = actions[2 * env + 1 - is_hider];
  const float paid = own != other ? -1.0f : own == 0 ? pays.heads[env] : pays.tails[env];
  rewards[agent_index()] = is_hider ? -paid : paid;
  if (is_hider) truncated[env] = timestep[env] >= episode_length;
  show(own, other, observations);
}

extern "C" __global__ void reset(float* observations) {
  if (!is_active()) return;  // guard
  show(-1, -1, observations);
}

// A player that turns up heads in three rounds of four, whatever the other does.
extern "C" __global__ void biased(Played played) {
  if (!plays(played, agent_id())) return;
  float* logits = outputs_of(played, agent_id());
  logits[0] = -0.287682072f;  // ln(3 / 4)
  logits[1] = -1.38629436f;   // ln(1 / 4)
}
