#include <warpworld.cuh>

extern "C" __global__ void step(float* height, int* leaps, int* score, bool* lucky, bool* agent_mask,
                                const bool* absent, const int* timestep, float* observations, float* rewards,
                                bool* terminated, bool* truncated) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id(), now = timestep[env];
  Random own = Random::agent(), shared = Random::env();
  height[i] = observations[i] = own.uniform(-1.0f, 1.0f);
  leaps[i] = (int)own.below(5u) - 1;
  agent_mask[i] = now <= 2 + 3 * agent_id() && !(agent_id() == 1 && absent[env]);
  rewards[i] = 1.0f;
  if (agent_id() != 0) return;
  score[env] = now * now + (int)shared.below(10u);
  lucky[env] = shared.below(3u) == 0u;
  terminated[env] = shared.below(7u) == 0u;
  truncated[env] = now >= 9;
}

extern "C" __global__ void reset(float* height, int* leaps, int* score, bool* lucky, bool* absent,
                                 float* observations) {
  if (!is_active()) return;
  const int i = agent_index();
  height[i] = observations[i] = 100.0f;
  leaps[i] = -1000;
  if (agent_id() != 0) return;
  score[env_id()] = -1000;
  lucky[env_id()] = true;
  absent[env_id()] = Random::env().below(2u) == 0u;
}
