// What sample.cu and sample_box.cu share. NUM_AGENTS is the group's size in these files; the constants are said there.
#pragma once

#include <warpworld.cuh>

constexpr unsigned INFINITE = 0x7F800000u;  // the exponent of NaN and of the infinities

// The agent's place in the actions array, in agents.
__device__ inline size_t action_index() { return (size_t)env_id() * ACTION_AGENTS + ACTION_FIRST + agent_id(); }

// The agent's place in the rollout's row, in agents.
__device__ inline size_t recorded_index(const int* row, int num_envs) {
  return (size_t)row[0] * num_envs * NUM_AGENTS + agent_index();
}

// Numbers of the agent as the env knows it, so that two groups draw different ones.
__device__ inline Random random_numbers() { return Random::of(AGENT_FIRST + agent_id()); }

// Copies what the agent sees into the rollout, and says where that is no finite number.
__device__ inline void record_observation(const float* observations, size_t recorded, float* rollout_observations,
                                          bool* not_finite) {
  const size_t observed = (size_t)env_id() * OBSERVATION_AGENTS + OBSERVATION_FIRST + agent_id();
  bool all_finite = true;
  for (int i = 0; i < OBSERVATION_SIZE; ++i) {
    const float x = observations[observed * OBSERVATION_SIZE + i];
    rollout_observations[recorded * OBSERVATION_SIZE + i] = x;
    all_finite &= (__float_as_uint(x) & INFINITE) != INFINITE;
  }
  if (!all_finite) not_finite[env_id()] = true;  // agents that do so write the same
}
