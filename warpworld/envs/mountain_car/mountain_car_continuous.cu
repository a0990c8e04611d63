// Mountain Car with a force: the car pushes with -1 to 1 of its power, pays for it, and is paid once it has left at the
// right, as Gymnasium's MountainCarContinuous-v0.
//
// Arrays: state (envs, 1, 2) position and velocity; observations the same. The agent writes everything. Read: actions
// (envs, 1, 1); power and gravity (envs,), change of velocity in a step.
#include "valley.cuh"

constexpr float GOAL = 0.45f, FOR_GOAL = 100.0f, COST = 0.1f;

extern "C" __global__ void step(float2* state, const float* actions, const int* timestep, float2* observations,
                                float* rewards, bool* terminated, bool* truncated, const float* power,
                                const float* gravity, float goal_velocity, int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index(), env = env_id();
  const float push = fminf(fmaxf(actions[i], -1.0f), 1.0f);
  const float2 car = driven(state[i], push * power[env], gravity[env]);
  const bool is_out = car.x >= GOAL && car.y >= goal_velocity;
  state[i] = observations[i] = car;
  rewards[i] = (is_out ? FOR_GOAL : 0.0f) - COST * actions[i] * actions[i];
  terminated[env] = is_out;
  truncated[env] = !is_out && timestep[env] >= episode_length;
}

extern "C" __global__ void reset(float2* state, float2* observations) {
  if (!is_active()) return;  // guard
  state[agent_index()] = observations[agent_index()] = parked();
}
