// Acrobot: two links hang from a bar; a torque at the joint between them swings the tip up. One Runge-Kutta step of 0.2 s,
// as Gymnasium's Acrobot-v1.
//
// Arrays: state (envs, 1, 4) angle of the first link from hanging down and of the second from the first, radians from -pi
// to pi, and their angular velocities, radians / s; observations (envs, 1, 6) cosine and sine of both angles, velocities.
// The agent writes everything. Read: actions (envs, 1, 1) 0, 1, 2 for a torque of -1, 0, 1 N m; (envs,) gravity
// m/s^2, link_mass_1 and link_mass_2 kg, link_length_1 and link_length_2 m.
#include <warpworld.cuh>

ENVS_IN_VECTORS;

constexpr float PI = 3.14159265358979f, STEP_SECONDS = 0.2f;
constexpr float INERTIA = 1.0f;  // of a link, about its centre of mass, which is in the middle: kg m^2
constexpr float SPEED_LIMIT_1 = 4.0f * PI, SPEED_LIMIT_2 = 9.0f * PI;
constexpr float START_RANGE = 0.1f;

struct Links {
  const float *gravity, *link_mass_1, *link_mass_2, *link_length_1, *link_length_2;
};

// What the equations of motion need of two links: inertias about the bar and about the joint, the one that couples them,
// kg m^2, and the torques of their weights when they are level, N m.
struct Arms {
  float bar, joint, coupling, weight_1, weight_2;
};

__device__ Arms arms_of(const Links& links, int env) {
  const float m1 = links.link_mass_1[env], m2 = links.link_mass_2[env], g = links.gravity[env];
  const float length = links.link_length_1[env], centre_1 = 0.5f * length, centre_2 = 0.5f * links.link_length_2[env];
  Arms arms;
  arms.joint = m2 * centre_2 * centre_2 + INERTIA;
  arms.bar = m1 * centre_1 * centre_1 + m2 * length * length + INERTIA + arms.joint;
  arms.coupling = m2 * length * centre_2;
  arms.weight_1 = (m1 * centre_1 + m2 * length) * g;
  arms.weight_2 = m2 * centre_2 * g;
  return arms;
}

__device__ float4 added(float4 a, float4 b, float times) {
  return make_float4(a.x + times * b.x, a.y + times * b.y, a.z + times * b.z, a.w + times * b.w);
}

// How the state changes, per second: the equations of Sutton and Barto's book.
__device__ float4 rates(float4 s, float torque, const Arms& arms) {
  const float sine_1 = sinf(s.x), cosine_1 = cosf(s.x), sine_2 = sinf(s.y), cosine_2 = cosf(s.y);
  const float d1 = arms.bar + 2.0f * arms.coupling * cosine_2, d2 = arms.joint + arms.coupling * cosine_2;
  const float phi_2 = arms.weight_2 * (sine_1 * cosine_2 + cosine_1 * sine_2);
  const float pull = arms.coupling * sine_2;
  const float phi_1 = arms.weight_1 * sine_1 + phi_2 - pull * s.w * (s.w + 2.0f * s.z);
  const float spin_2 = (torque + d2 / d1 * phi_1 - pull * s.z * s.z - phi_2) / (arms.joint - d2 * d2 / d1);
  return make_float4(s.z, s.w, -(d2 * spin_2 + phi_1) / d1, spin_2);
}

__device__ float limited(float value, float limit) { return fminf(fmaxf(value, -limit), limit); }

// The same angle from -pi to pi.
__device__ float wrapped(float angle) { return angle - 2.0f * PI * floorf((angle + PI) / (2.0f * PI)); }

// Writes what the agent sees; returns how high the tip of links of a metre each is above the bar. As in Gymnasium, it
// ends an episode whatever the lengths.
__device__ float observe(float4 s, float* observations) {
  float* seen = observations + 6 * agent_index();
  seen[0] = cosf(s.x);
  seen[1] = sinf(s.x);
  seen[2] = cosf(s.y);
  seen[3] = sinf(s.y);
  seen[4] = s.z;
  seen[5] = s.w;
  return -seen[0] - (seen[0] * seen[2] - seen[1] * seen[3]);
}

extern "C" __global__ void step(float4* state, Links links, const int* actions, const int* timestep, float* observations,
                                float* rewards, bool* terminated, bool* truncated, int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index(), env = env_id();
  const float4 s = state[i];
  const float torque = (float)(actions[i] - 1);
  const Arms arms = arms_of(links, env);
  float4 at = s, sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#ifdef __CUDACC__
#pragma unroll 1  // four copies of the equations spill registers
#else
#pragma GCC unroll 4  // else a CPU makes no vectors
#endif
  for (int k = 0; k < 4; ++k) {
    const float4 rate = rates(at, torque, arms);
    sum = added(sum, rate, k == 1 || k == 2 ? 2.0f : 1.0f);
    at = added(s, rate, k < 2 ? STEP_SECONDS / 2.0f : STEP_SECONDS);
  }
  float4 next = added(s, sum, STEP_SECONDS / 6.0f);
  next = make_float4(wrapped(next.x), wrapped(next.y), limited(next.z, SPEED_LIMIT_1), limited(next.w, SPEED_LIMIT_2));
  state[i] = next;
  const bool is_up = observe(next, observations) > 1.0f;
  rewards[i] = is_up ? 0.0f : -1.0f;
  terminated[env] = is_up;
  truncated[env] = !is_up & (timestep[env] >= episode_length);
}

extern "C" __global__ void reset(float4* state, float* observations) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  float4 start;
  start.x = random.uniform(-START_RANGE, START_RANGE);
  start.y = random.uniform(-START_RANGE, START_RANGE);
  start.z = random.uniform(-START_RANGE, START_RANGE);
  start.w = random.uniform(-START_RANGE, START_RANGE);
  state[agent_index()] = start;
  observe(start, observations);
}
