// What the kernels of a replay share. They work on a ring of rows in time, not on an env: all lanes of all envs take
// their part of one long loop, so that each kernel has a launch of its own.
//
// A row holds BLOCK items, one for each env and agent. Item i of ITEMS belongs to block i / BLOCK. ITEMS is rounded up
// to a multiple of FAN * FAN; the items behind the last block are never drawable.
#pragma once

#include "finite.cuh"

constexpr int FAN = 32;  // numbers that are added up to one of the next level

__device__ inline int first_lane() { return env_id() * num_lanes() + lane(); }
__device__ inline int all_lanes(int num_envs) { return num_envs * num_lanes(); }

// How many draws ahead of its own one lane fetches: a core waits for memory, where a GPU runs other lanes meanwhile.
constexpr int FETCHED_AHEAD = 12;

// Fetches what is read soon.
__device__ inline void fetch(const void* memory) {
#ifndef __CUDACC__
  __builtin_prefetch(memory);
#endif
}
