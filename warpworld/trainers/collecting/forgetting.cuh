// When agents forget: their episode, or their part of it, ended in the latest step, or they were cut in the step before that.
#pragma once

#include <warpworld.cuh>

// Where that is found: of envs (envs,), of agents (envs, all of an env). An array that a world does not have is null.
struct Ends {
  const bool* terminated;
  const bool* truncated;
  const bool* agent_terminated;
  const bool* agent_cut_before;
  bool* agent_cut;
};

// Empties what Count agents of an env remember, (Count, Size) from `own` on, by all of its lanes; an agent that forgets since
// its episode ended is cut no more. The first of them is agent First of the env's All, and they are Stride apart. Leaves:
// whether an agent's episode may end before its env's. Cuts: whether agents are cut while their env continues.
template <int Count, int Size, int All, int First, int Stride, bool Leaves, bool Cuts>
__device__ void forget_agents(const Ends& ends, float* own) {
  for (int i = lane(); i < Count * Size; i += num_lanes()) {
    const int agent = env_id() * All + First + Stride * (i / Size);
    const bool ended = ends.terminated[env_id()] || ends.truncated[env_id()] || (Leaves && ends.agent_terminated[agent]);
    if (ended || (Cuts && ends.agent_cut_before[agent])) own[i] = 0.0f;
    if (Cuts && ended && i % Size == 0) ends.agent_cut[agent] = false;
  }
}
