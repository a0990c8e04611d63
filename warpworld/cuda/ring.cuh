// A ring of rows in time: each holds one step of a policy's agents in each env. `written` is how many rows were ever
// written; the row written last is (written - 1) % rows. Ring arrays are (rows, envs, agents, ...), ends (rows, envs).
// takes_part: PLAYED where the agent's own policy played the row, COUNTS where its reward counts, ENDS where its life or its
// env's episode ended with it, CUT_OFF where the episode was truncated, CUT_ALONE where the agent was cut while the episode
// goes on, so that the next row holds what it saw last: one byte, so that gathers read one array instead of five.
#pragma once

#include "replay.cuh"

constexpr unsigned char PLAYED = 1, COUNTS = 2, ENDS = 4, CUT_OFF = 8, CUT_ALONE = 16;

// The ring as the kernels read it. With `leaving` an agent's life may end before its episode does, and another may begin;
// with `cutting` it may be cut before; with `masking` some take no part; else the pointers lead to placeholders, which are
// never read.
struct Ring {
  const float* ring_rewards;
  const bool* ring_terminated;
  const bool* ring_truncated;
  const bool* ring_agent_terminated;
  const bool* ring_agent_truncated;
  const bool* ring_agent_mask;
  int num_envs;
  int rows;
  int agents;
  bool leaving;
  bool cutting;
  bool masking;

  __device__ size_t item(int row, int env, int agent) const { return ((size_t)row * num_envs + env) * agents + agent; }
  __device__ bool terminated(int row, int env) const { return ring_terminated[(size_t)row * num_envs + env]; }
  __device__ bool truncated(int row, int env) const { return ring_truncated[(size_t)row * num_envs + env]; }
  __device__ bool ended(int row, int env) const { return terminated(row, env) || truncated(row, env); }
  __device__ bool cut_off(int row, int env) const { return truncated(row, env) && !terminated(row, env); }
  __device__ bool leaves(size_t item) const { return leaving && ring_agent_terminated[item]; }
  __device__ bool cut_alone(int row, int env, int agent) const {
    return cutting && ring_agent_truncated[item(row, env, agent)] && !ended(row, env) && !leaves(item(row, env, agent));
  }
  __device__ bool masked(size_t item) const { return masking && !ring_agent_mask[item]; }
};

// The row that is written some steps after another, no more than there are rows.
__device__ inline int row_after(int row, int steps, int rows) {
  return row + steps < rows ? row + steps : row + steps - rows;
}
