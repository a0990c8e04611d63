// The states of one group's agents that remember, and how the lanes of an env share their numbers.
#pragma once

#include "finite.cuh"

constexpr int SIDE_BY_SIDE = 32;  // lanes that take the numbers of one state; where lanes take turns, there is one

struct Remembering {
  int group_size;    // agents of the group
  int group_first;   // number of the first of them in the env
  int group_stride;  // from one to the next
  int world_agents;  // of the env
  int state_size;    // numbers in a state
  bool leaving;      // whether agent_terminated is read: agents may leave before their env's episode ends

  // An agent of the env, in an array of all agents.
  __device__ size_t agent(int i) const {
    return (size_t)env_id() * world_agents + group_first + group_stride * i;
  }
  // Where its state begins in an array (envs, group_size, state_size).
  __device__ size_t state(int i) const { return ((size_t)env_id() * group_size + i) * state_size; }
  __device__ bool has_ended(const bool* terminated, const bool* truncated, const bool* agent_terminated, int i) const {
    return terminated[env_id()] || truncated[env_id()] || (leaving && agent_terminated[agent(i)]);
  }
};

// This lane's agents are first_agent(), first_agent() + agents_at_once() ..., and of each the numbers first_number(),
// first_number() + numbers_at_once() ...
__device__ inline int first_agent() { return lane() / SIDE_BY_SIDE; }
__device__ inline int agents_at_once() { return (num_lanes() + SIDE_BY_SIDE - 1) / SIDE_BY_SIDE; }
__device__ inline int first_number() { return lane() % SIDE_BY_SIDE; }
__device__ inline int numbers_at_once() { return num_lanes() < SIDE_BY_SIDE ? num_lanes() : SIDE_BY_SIDE; }
