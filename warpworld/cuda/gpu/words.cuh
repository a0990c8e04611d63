// The words of warpworld.cuh on a GPU. Several small envs may share a block: WW_ENVS_PER_WARP envs to a warp and
// WW_WARPS_PER_BLOCK warps to a block, or one env per block where WW_ENVS_PER_WARP is 0.
//
// `make test` runs these words lane by lane (tests/cuda/test_gpu_words.py); whole launches of packed envs run in `make test-cuda`
// only, on the stand-in driver (tests/stand_in), and on a GPU.
//
// WW_THREADS_PER_ENV is the number of threads that every kernel of the file has; kernels that differ in it ask their launch.
#pragma once

#include "launch.cuh"

#define WW_FUNCTION static __device__ __forceinline__
#define WW_METHOD __device__ __forceinline__

#ifndef WW_WARP_SIZE
#define WW_WARP_SIZE 32
#endif
#ifndef WW_ENVS_PER_WARP
#define WW_ENVS_PER_WARP 0
#endif
#ifndef WW_WARPS_PER_BLOCK
#define WW_WARPS_PER_BLOCK 4
#endif

#if WW_ENVS_PER_WARP
#define WW_SLOTS (WW_ENVS_PER_WARP * WW_WARPS_PER_BLOCK)
#define WW_BLOCK (WW_WARP_SIZE * WW_WARPS_PER_BLOCK)
#else
#define WW_SLOTS 1
#endif

__shared__ ww_context ww_shared_context;
__shared__ int ww_shared_kernel_index;
__shared__ bool ww_takes_part[WW_SLOTS];

#define ENVS_IN_VECTORS static_assert(true, "envs have threads of their own")

constexpr bool LANES_SIDE_BY_SIDE = true;

WW_FUNCTION const ww_context& ww_world() { return ww_shared_context; }
WW_FUNCTION int ww_kernel_index() { return ww_shared_kernel_index; }

#if WW_ENVS_PER_WARP
static_assert(WW_ENVS_PER_WARP * NUM_AGENTS <= WW_WARP_SIZE, "the agents of WW_ENVS_PER_WARP envs must fit a warp");
WW_FUNCTION int ww_warp_lane() { return (int)(threadIdx.x % WW_WARP_SIZE); }
WW_FUNCTION bool ww_has_agent() { return ww_warp_lane() < WW_ENVS_PER_WARP * NUM_AGENTS; }
WW_FUNCTION int ww_slot_of_warp() { return ww_has_agent() ? ww_warp_lane() / NUM_AGENTS : WW_ENVS_PER_WARP - 1; }
WW_FUNCTION int ww_slot() { return (int)(threadIdx.x / WW_WARP_SIZE) * WW_ENVS_PER_WARP + ww_slot_of_warp(); }
// A lane without an agent has the index of the last agent: it may read there, not write.
WW_FUNCTION int agent_id() { return ww_has_agent() ? ww_warp_lane() % NUM_AGENTS : NUM_AGENTS - 1; }
WW_FUNCTION int lane() { return agent_id(); }
WW_FUNCTION int num_lanes() { return NUM_AGENTS; }
WW_FUNCTION int ww_unclamped_env() { return (int)blockIdx.x * WW_SLOTS + ww_slot(); }
WW_FUNCTION void sync_env() {
  const unsigned lanes = (0xFFFFFFFFu >> (32 - NUM_AGENTS)) << (ww_slot_of_warp() * NUM_AGENTS);
  if (ww_has_agent()) __syncwarp(lanes);
}
#else
// Every lane is one of its env's own; in a kernel with more threads than agents, lanes count and agent_id() is one of them.
WW_FUNCTION bool ww_has_agent() { return true; }
WW_FUNCTION int ww_slot() { return 0; }
#ifdef WW_TURNS
// An env of this file has more lanes than a block has threads: they take turns, each in a call of the kernel.
__shared__ int ww_turn, ww_lanes;
WW_FUNCTION int lane() { return ww_turn + (int)threadIdx.x; }
WW_FUNCTION int num_lanes() { return ww_lanes; }
// The barriers order the turns: no thread may still ask for its lane in the turn before.
WW_FUNCTION void ww_take_turn(int first, int lanes) {
  __syncthreads();
  if (threadIdx.x == 0) ww_turn = first, ww_lanes = lanes;
  __syncthreads();
}
#define WW_TAKE_TURNS(lanes, threads)                                       \
  for (int ww_first = 0; ww_first < (lanes); ww_first += (threads))         \
    if (ww_take_turn(ww_first, lanes), lane() < (lanes))
#else
WW_FUNCTION int lane() { return (int)threadIdx.x; }
#ifdef WW_THREADS_PER_ENV
WW_FUNCTION int num_lanes() { return WW_THREADS_PER_ENV; }
#else
WW_FUNCTION int num_lanes() { return (int)blockDim.x; }
#endif
#endif
WW_FUNCTION int agent_id() { return lane(); }
WW_FUNCTION int ww_unclamped_env() { return (int)blockIdx.x; }
WW_FUNCTION void sync_env() { __syncthreads(); }
#endif

// How many lanes vote together: those of a warp where an env's lanes fill warps, or else each by itself.
WW_FUNCTION int ww_lanes_that_vote() {
#if WW_ENVS_PER_WARP || defined(WW_TURNS)
  return 1;
#else
  return num_lanes() % WW_WARP_SIZE == 0 ? WW_WARP_SIZE : 1;
#endif
}
// A bit for each of them: whether it voted for something. All of them call it.
WW_FUNCTION unsigned ww_votes(bool vote) {
  return ww_lanes_that_vote() == 1 ? (unsigned)vote : __ballot_sync(0xFFFFFFFFu, vote);
}

WW_FUNCTION int env_id() {
  const int env = ww_unclamped_env();
  return env < ww_world().num_envs ? env : ww_world().num_envs - 1;
}
WW_FUNCTION bool is_active() { return ww_has_agent() && ww_takes_part[ww_slot()]; }

#define ENV_SHARED(type, name, n)              \
  __shared__ type ww_shared_##name[WW_SLOTS][n]; \
  type(&name)[n] = ww_shared_##name[ww_slot()]

#include "prologue.cuh"
