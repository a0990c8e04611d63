// Steps whose costs are drawn: `least` to `most` microseconds, evenly in their logarithm, and in one step of 500 `rarely`.
//
// Arrays: sum (envs,) uint32 of what has happened; observations (envs, 1, 1), rewards (envs, 1), terminated and truncated
// (envs,). Read: actions (envs, 1, 1), timestep (envs,).
#include <warpworld.cuh>

extern "C" __global__ void step(const int* actions, const int* timestep, unsigned* sum, float* observations, float* rewards,
                                bool* truncated, float least, float most, float rarely, float turns_per_microsecond,
                                int episode_length) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const float usual = least * powf(most / least, random.uniform(0.0f, 1.0f));
  const int turns = (int)(turns_per_microsecond * (random.below(500) == 0 ? fmaxf(rarely, usual) : usual));
  unsigned value = sum[env_id()] + (unsigned)actions[agent_index()];
  for (int k = 0; k < turns; ++k) value = 1664525u * value + 1013904223u;
  sum[env_id()] = value;
  observations[agent_index()] = (float)(value >> 8);
  rewards[agent_index()] = 1.0f;
  truncated[env_id()] = timestep[env_id()] >= episode_length;
}

extern "C" __global__ void reset(unsigned* sum, float* observations) {
  if (!is_active()) return;  // guard
  sum[env_id()] = (unsigned)env_id();
  observations[agent_index()] = 0.0f;
}
