// CartPole: one agent pushes a cart left (0) or right (1). Euler steps of 0.02 s, as Gymnasium's CartPole-v1.
//
// Arrays: state (envs, 1, 4) x, x', theta, theta'; observations the same. The agent writes everything. Read, (envs,):
// gravity m/s^2, cart_mass and pole_mass kg, pole_length m, force N.
#include <warpworld.cuh>

ENVS_IN_VECTORS;

constexpr float STEP_SECONDS = 0.02f;
constexpr float POSITION_LIMIT = 2.4f, ANGLE_LIMIT = 12.0f * 2.0f * 3.14159265358979f / 360.0f;
constexpr float START_RANGE = 0.05f;

struct Physics {
  const float *gravity, *cart_mass, *pole_mass, *pole_length, *force;
};

extern "C" __global__ void step(float4* state, const int* actions, const int* timestep, float4* observations,
                                float* rewards, bool* terminated, bool* truncated, Physics physics,
                                int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index(), env = env_id();
  const float4 s = state[i];
  const float sine = sinf(s.z), cosine = cosf(s.z);  // parameters are read after these, which is 4 % faster on a CPU
  const float pole_mass = physics.pole_mass[env], total_mass = physics.cart_mass[env] + pole_mass;
  const float half_length = 0.5f * physics.pole_length[env], lever = half_length * pole_mass / total_mass;
  const float force = physics.force[env] / total_mass, push = actions[i] == 1 ? force : -force;
  const float pushed = push + lever * s.w * s.w * sine;
  const float angular = (physics.gravity[env] * sine - cosine * pushed) /
                        (half_length * (4.0f / 3.0f) - lever * cosine * cosine);
  const float linear = pushed - lever * angular * cosine;
  float4 next = make_float4(s.x + STEP_SECONDS * s.y, s.y + STEP_SECONDS * linear, s.z + STEP_SECONDS * s.w,
                            s.w + STEP_SECONDS * angular);
  state[i] = next;
  observations[i] = next;
  rewards[i] = 1.0f;
  terminated[env] = (fabsf(next.x) > POSITION_LIMIT) | (fabsf(next.z) > ANGLE_LIMIT);
  truncated[env] = timestep[env] >= episode_length;
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
