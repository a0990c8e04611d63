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

// Copies the agents' observations into the rollout, and marks envs in which one is not finite.
template <class Number>
__device__ void record_observation(const Number* observations, size_t recorded, Number* rollout_observations,
                                   bool* not_finite) {
  const int self = agent_id(), size = OBSERVATION_SIZE;
  const Number* seen = observations + ((size_t)env_id() * OBSERVATION_AGENTS + OBSERVATION_FIRST) * size;
  Number* kept = rollout_observations + (recorded - self) * size;
  // an env's lanes side by side take neighbouring numbers of all its rows, one that has its turn takes its own row
  const int first = LANES_SIDE_BY_SIDE ? lane() : self * size, stride = LANES_SIDE_BY_SIDE ? num_lanes() : 1;
  const int end = LANES_SIDE_BY_SIDE ? NUM_AGENTS * size : first + size;
  if (!copy_finite(seen, kept, first, end, stride)) not_finite[env_id()] = true;  // lanes that do so write the same
}
