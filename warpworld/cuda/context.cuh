// What the world tells every kernel without a parameter: it rides in the launch, so that two worlds of one source in one
// process never share it.
#pragma once

#include <stdint.h>

struct ww_context {
  int32_t num_envs;
  int32_t first_env;  // global index of env 0 of this process
  uint64_t seed;
  int32_t* timestep;  // (num_envs,) steps of this episode
  uint64_t* clock;    // (num_envs,) steps and resets ever made
  bool* terminated;   // (num_envs,)
  bool* truncated;    // (num_envs,)
  bool* active;       // (num_envs,) takes part in this launch
};
