// CartPole: one agent pushes a cart left (0) or right (1). Euler steps of 0.02 s, as Gymnasium's CartPole-v1.
//
// Arrays: state (envs, 1, 4) x, x', theta, theta'; observations the same. The agent writes everything. Read: gravity
// (envs,) m/s^2.
#include <warpworld.cuh>

constexpr float CART_MASS = 1.0f, POLE_MASS = 0.1f, HALF_POLE_LENGTH = 0.5f, FORCE = 10.0f;
// Gymnasium divides by the total mass at every step; here the constants are divided by it.
constexpr float TOTAL_MASS = CART_MASS + POLE_MASS, PUSH = FORCE / TOTAL_MASS;
constexpr float LEVER = HALF_POLE_LENGTH * POLE_MASS / TOTAL_MASS;
constexpr float STEP_SECONDS = 0.02f;
constexpr float POSITION_LIMIT = 2.4f, ANGLE_LIMIT = 12.0f * 2.0f * 3.14159265358979f / 360.0f;
constexpr float START_RANGE = 0.05f;

extern "C" __global__ void step(float4* state, const int* actions, const int* timestep, float4* observations,
                                float* rewards, bool* terminated, bool* truncated, const float* gravity,
                                int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index();
  const float4 s = state[i];
  const float push = actions[i] == 1 ? PUSH : -PUSH;
  const float sine = sinf(s.z), cosine = cosf(s.z);
  const float pushed = push + LEVER * s.w * s.w * sine;
  const float angular = (gravity[env_id()] * sine - cosine * pushed) / (HALF_POLE_LENGTH * 4.0f / 3.0f - LEVER * cosine * cosine);
  const float linear = pushed - LEVER * angular * cosine;
  const float4 next = make_float4(s.x + STEP_SECONDS * s.y, s.y + STEP_SECONDS * linear, s.z + STEP_SECONDS * s.w,
                                  s.w + STEP_SECONDS * angular);
  state[i] = next;
  observations[i] = next;
  rewards[i] = 1.0f;
  terminated[env_id()] = fabsf(next.x) > POSITION_LIMIT || fabsf(next.z) > ANGLE_LIMIT;
  truncated[env_id()] = timestep[env_id()] >= episode_length;
}

extern "C" __global__ void reset(float4* state, float4* observations) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  float4 start;
  start.x = random.uniform(-START_RANGE, START_RANGE);
  start.y = random.uniform(-START_RANGE, START_RANGE);
  start.z = random.uniform(-START_RANGE, START_RANGE);
  start.w = random.uniform(-START_RANGE, START_RANGE);
  state[agent_index()] = start;
  observations[agent_index()] = start;
}
