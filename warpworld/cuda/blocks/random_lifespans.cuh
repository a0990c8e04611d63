// The kernels of the block RandomLifespans: episodes of random length, so that envs do not all end at once.
#pragma once

#include <warpworld.cuh>

// Writes lifespan: steps of the episode that begins, episode_length / 2 rounded up to episode_length.
extern "C" __global__ void draw_lifespan(int* lifespan, int episode_length) {
  if (!is_active() || agent_id() != 0) return;
  const int half = episode_length / 2;
  lifespan[env_id()] = episode_length - half + (int)Random::agent().below((uint32_t)half + 1u);
}

// Reads lifespan; writes truncated.
extern "C" __global__ void end_lifespan(const int* lifespan, const int* timestep, bool* truncated) {
  if (!is_active() || agent_id() != 0) return;
  truncated[env_id()] = timestep[env_id()] >= lifespan[env_id()];
}
