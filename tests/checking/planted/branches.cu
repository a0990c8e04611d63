// Barriers that some agents of an env do not come to, with code on both sides that races for it.
#include <warpworld.cuh>

#include "turns_of_players.cuh"

#define OTHER (env_id() * NUM_AGENTS + (agent_id() + 1) % NUM_AGENTS)

extern "C" __global__ void in_an_if(float* x, float* y, const int* actions) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  x[agent_index()] *= 2.0f;
  if (actions[agent_index()] > 0) {  // in_an_if
    sync_env();
  }
  const float seen = x[OTHER];
  y[agent_index()] = seen + x[OTHER];
}

extern "C" __global__ void in_a_loop(float* x, float* y) {
  if (!is_active()) return;
  float sum = 0.0f;
  for (int round = 0; round < 3; ++round) {
    x[agent_index()] = sum + round;
    if (agent_id() != round) sync_env();  // in_a_loop
    sum += x[OTHER];
  }
  y[agent_index()] = sum;
}

extern "C" __global__ void left_early(float* x, float* y) {
  if (!is_active()) return;
  float sum = 0.0f;
  for (int round = 0; round < 3; ++round) {
    x[agent_index()] = sum + round;
    if (agent_id() < 2) {  // left_early
      sum += x[OTHER];
      continue;
    }
    sync_env();
    sum += x[OTHER];
  }
  y[agent_index()] = sum;
}

extern "C" __global__ void in_an_else(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  if (agent_id() == 1) {  // in_an_else
    y[agent_index()] = 1.0f;
  } else {
    sync_env();
  }
  y[agent_index()] = x[OTHER];
}

extern "C" __global__ void in_a_switch(float* x, float* y, const int* actions) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  switch (actions[agent_index()]) {  // in_a_switch
    case 1: sync_env(); break;
    default: break;
  }
  y[agent_index()] = x[OTHER];
}

extern "C" __global__ void while_data(float* x, float* y, const int* actions) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  for (int k = 0; k < actions[agent_index()]; ++k)  // while_data
    sync_env();
  y[agent_index()] = x[OTHER];
}

__device__ void meet(bool taking_part) {
  if (taking_part) sync_env();  // in_a_function
}

extern "C" __global__ void in_a_function(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  meet(agent_id() > 0);
  y[agent_index()] = x[OTHER];
}

__device__ void leave_or_meet(int agent) {
  if (agent == 0) return;  // leaves_a_function
  sync_env();
}

extern "C" __global__ void leaves_a_function(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  leave_or_meet(agent_id());
  y[agent_index()] = x[OTHER];
}

// The branch is the same for all agents, but not taken in each step.
extern "C" __global__ void now_and_then(float* x, float* y, const int* timestep) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  if (timestep[env_id()] % 2 == 0) sync_env();  // now_and_then
  y[agent_index()] = x[OTHER];
}

// The function that has the branch is in another file.
extern "C" __global__ void in_another_file(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  meet_elsewhere(agent_id() > 0);
  y[agent_index()] = x[OTHER];
}

extern "C" __global__ void chosen_by_a_sign(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  agent_id() != 0 ? (void)__syncwarp() : (void)0;  // chosen_by_a_sign
  y[agent_index()] = x[OTHER];
}
