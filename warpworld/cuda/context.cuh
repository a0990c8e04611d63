// What the world passes to every kernel without a parameter. It travels with the launch, so that two worlds of one
// source in one process never share it.
#pragma once

#include <stdint.h>

enum ww_autoreset {
  WW_SAME_STEP = 0,  // an env that ends is reset in the same step
  WW_NEXT_STEP = 1,  // in the next step, in which it does nothing else
  WW_DISABLED = 2,   // by its caller; until then it skips steps
};

struct ww_context {
  int32_t num_envs;
  int32_t first_env;  // global index of env 0 of this process
  int32_t autoreset;  // ww_autoreset
  int32_t* timestep;  // (num_envs,) steps of this episode
  uint64_t* clock;    // (num_envs,) steps and resets so far
  uint64_t* key;      // (num_envs,) seed of the env's random numbers
  uint32_t* stream;   // (num_envs,) which stream of that seed the env uses
  bool* terminated;   // (num_envs,)
  bool* truncated;    // (num_envs,)
  bool* active;       // (num_envs,) takes part in this launch
  bool* resetting;    // (num_envs,) is reset in this step; null unless WW_NEXT_STEP
};
