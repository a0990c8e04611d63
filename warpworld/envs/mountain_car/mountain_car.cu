// Mountain Car: a car in a valley pushes left (0), not at all (1) or right (2) until it has left at the right, as
// Gymnasium's MountainCar-v0.
//
// Arrays: state (envs, 1, 2) position and velocity; observations the same. The agent writes everything. Read: actions
// (envs, 1, 1); force and gravity (envs,), change of velocity in a step.
#include "valley.cuh"

constexpr float GOAL = 0.5f;

extern "C" __global__ void step(float2* state, const int* actions, const int* timestep, float2* observations,
                                float* rewards, bool* terminated, bool* truncated, const float* force,
                                const float* gravity, float goal_velocity, int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index(), env = env_id();
  const float2 car = driven(state[i], (float)(actions[i] - 1) * force[env], gravity[env]);
  const bool is_out = car.x >= GOAL && car.y >= goal_velocity;
  state[i] = observations[i] = car;
  rewards[i] = -1.0f;
  terminated[env] = is_out;
  truncated[env] = !is_out && timestep[env] >= episode_length;
}

extern "C" __global__ void reset(float2* state, float2* observations) {
  if (!is_active()) return;  // guard
  state[agent_index()] = observations[agent_index()] = parked();
}
