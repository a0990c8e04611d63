// Pendulum: one agent turns a rod at its hinge. Euler steps of 0.05 s, as Gymnasium's Pendulum-v1.
//
// Arrays: state (envs, 1, 2) angle from upright in radians, -pi to pi, and angular velocity in radians / s; observations
// (envs, 1, 3) cosine, sine, angular velocity. The agent writes everything. Read: actions (envs, 1, 1) torque in N m;
// gravity (envs,) m/s^2.
#include <warpworld.cuh>

ENVS_IN_VECTORS;

constexpr float PI = 3.14159265358979f;
constexpr float MASS = 1.0f, LENGTH = 1.0f, STEP_SECONDS = 0.05f;
constexpr float SPEED_LIMIT = 8.0f, TORQUE_LIMIT = 2.0f;
constexpr float SPEED_COST = 0.1f, TORQUE_COST = 0.001f;
constexpr float START_SPEED = 1.0f;

__device__ float limited(float value, float limit) { return fminf(fmaxf(value, -limit), limit); }

// The same angle from -pi to pi.
__device__ float wrapped(float angle) { return angle - 2.0f * PI * floorf((angle + PI) / (2.0f * PI)); }

__device__ void observe(float2 state, float* observations) {
  float* seen = observations + 3 * agent_index();
  seen[0] = cosf(state.x);
  seen[1] = sinf(state.x);
  seen[2] = state.y;
}

extern "C" __global__ void step(float2* state, const float* actions, const int* timestep, float* observations,
                                float* rewards, bool* truncated, const float* gravity, int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index();
  const float2 s = state[i];
  const float torque = limited(actions[i], TORQUE_LIMIT);
  rewards[i] = -(s.x * s.x + SPEED_COST * s.y * s.y + TORQUE_COST * torque * torque);
  const float pulled = 1.5f * gravity[env_id()] / LENGTH * sinf(s.x);
  const float pushed = 3.0f / (MASS * LENGTH * LENGTH) * torque;
  const float speed = limited(s.y + STEP_SECONDS * (pulled + pushed), SPEED_LIMIT);
  float2 next = make_float2(wrapped(s.x + STEP_SECONDS * speed), speed);
  state[i] = next;
  observe(next, observations);
  truncated[env_id()] = timestep[env_id()] >= episode_length;
}

extern "C" __global__ void reset(float2* state, float* observations) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  float2 start;
  start.x = random.uniform(-PI, PI);
  start.y = random.uniform(-START_SPEED, START_SPEED);
  state[agent_index()] = start;
  observe(start, observations);
}
