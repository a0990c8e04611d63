// WarpDrive's functions, for env kernels written for WarpDrive: `includes = ("warpdrive.cuh",)` puts this file before
// their text. See docs/from-warpdrive.md.
//
//   wkNumberAgents, wkBlocksPerEnv   constant expressions; one block per env
//   wkNumberEnvs                     a number known when the kernel runs: another num_envs needs no recompilation
//   getEnvID(blockIdx.x)             index of this env       getAgentID(threadIdx.x, blockIdx.x, blockDim.x)   of this agent
//   __sync_env_threads()             barrier of all agents of this env
//   get_flattened_array_index(index, shape, dimensions)      place of an element in a row-major array
//
// Such a kernel runs one env per block, one thread per agent. Below are kernels for what WarpDrive does around an env's
// own: ends of episodes, and the first observations in them.
#pragma once

#include <warpworld.cuh>

#if defined(WW_ENVS_PER_WARP) && WW_ENVS_PER_WARP
#error "kernels in WarpDrive's words cannot share a warp with other envs: leave envs_per_warp out, or make it 0"
#endif

#if defined(__CUDACC_RTC__)  // which has assert built in, and of pow none for two whole numbers
WW_FUNCTION double pow(int base, int exponent) { return pow((double)base, (double)exponent); }
#else
#include <assert.h>
#endif

// An index of the launch, unsigned, starts many a list of ints there: not worth a warning in each build.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 2361
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wc++11-narrowing"
#endif

constexpr int wkNumberAgents = NUM_AGENTS;
constexpr int wkBlocksPerEnv = 1;
#define wkNumberEnvs (ww_world().num_envs)

WW_FUNCTION int getEnvID(int block) { return block / wkBlocksPerEnv; }
WW_FUNCTION int getAgentID(int thread, int block, int threads) { return thread + block % wkBlocksPerEnv * threads; }

// A macro, so that a fault at a barrier is reported at the author's line.
#define __sync_env_threads() __syncthreads()

WW_FUNCTION int get_flattened_array_index(const int* index, const int* shape, int dimensions) {
  int place = 0;
  for (int i = 0; i < dimensions; ++i) place = place * shape[i] + index[i];
  return place;
}

// Ends the episodes whose kernel has set `done` (envs,): the time limit truncates, all else terminates. In an episode's
// last possible step `done` does not show whether the game ended too; it counts as truncated then.
extern "C" __global__ void warpdrive_end_episodes(const int* done, const int* timestep, bool* terminated,
                                                  bool* truncated, int episode_length) {
  if (!is_active() || lane() != 0) return;  // guard
  const int env = env_id();
  const bool at_limit = timestep[env] >= episode_length;
  terminated[env] = done[env] != 0 && !at_limit;
  truncated[env] = done[env] != 0 && at_limit;
}

// The same with every end as the game's own, as in WarpDrive's trainers: a time limit is followed by no value.
extern "C" __global__ void warpdrive_terminate_episodes(const int* done, bool* terminated) {
  if (!is_active() || lane() != 0) return;  // guard
  terminated[env_id()] = done[env_id()] != 0;
}

// Copies the first observations, `size` numbers that are the same for all envs, to an env that starts an episode.
extern "C" __global__ void warpdrive_first_observations(const float* first_observations, float* observations, int size) {
  if (!is_active()) return;  // guard
  float* seen = observations + (size_t)env_id() * size;
  for (int i = lane(); i < size; i += num_lanes()) seen[i] = first_observations[i];
}
