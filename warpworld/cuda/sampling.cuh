// What sample.cu and sample_box.cu share. NUM_AGENTS is the group's size in these files; the constants are explained
// there.
#pragma once

#include "drawing.cuh"

// The agent's place in the actions array, in agents.
__device__ inline size_t action_index() { return (size_t)env_id() * ACTION_AGENTS + ACTION_FIRST + agent_id(); }

// The agent's place in the rollout's row, in agents.
__device__ inline size_t recorded_index(const int* row, int num_envs) {
  return (size_t)row[0] * num_envs * NUM_AGENTS + agent_index();
}

// The agent's number in the env.
__device__ inline int number_in_env() { return AGENT_FIRST + AGENT_STRIDE * agent_id(); }

// Numbers of the agent as the env knows it, so that two groups draw different ones.
__device__ inline Random random_numbers() { return Random::of(number_in_env()); }

// Whether this lane has an agent to act for: a kernel that records long rows has more lanes, which copy alone.
__device__ inline bool acts() { return lane() < NUM_AGENTS; }

// Copies an env's rows of bytes, in the widest words that each row begins and ends with.
__device__ inline bool copy_rows(const unsigned char* seen, unsigned char* kept, int count) {
  constexpr int size = OBSERVATION_SIZE;
  if constexpr (size % sizeof(uint4) == 0)
    copy_words<uint4>(seen, kept, count);
  else if constexpr (size % sizeof(unsigned) == 0)
    copy_words<unsigned>(seen, kept, count);
  else
    copy_words<unsigned char>(seen, kept, count);
  return true;  // the host looks at floats among bytes
}

__device__ inline bool copy_rows(const float* seen, float* kept, int count) {
  return copy_finite(seen, kept, lane(), count, num_lanes());
}

// Copies the agents' observations into the rollout, and marks envs in which one is not finite. All lanes of the env call it.
template <class Number>
__device__ void record_observation(const Number* observations, size_t recorded, Number* rollout_observations,
                                   bool* not_finite) {
  const int self = agent_id(), size = OBSERVATION_SIZE;
  const Number* seen = observations + ((size_t)env_id() * OBSERVATION_AGENTS + OBSERVATION_FIRST) * size;
  Number* kept = rollout_observations + (recorded - self) * size;
  // an env's lanes side by side take neighbouring numbers of all its rows, one that has its turn takes its own row
  const bool is_finite = LANES_SIDE_BY_SIDE
                             ? copy_rows(seen, kept, NUM_AGENTS * size)
                             : copy_finite(seen, kept, self * size, (self + 1) * size, 1);
  if (!is_finite) not_finite[env_id()] = true;  // lanes that do so write the same
}
