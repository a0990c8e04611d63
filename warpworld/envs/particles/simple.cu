// Simple: one agent walks to a landmark, as mpe2's simple.
//
// Arrays: those of particles.cuh; observations (envs, 1, 4), see look(); rewards (envs, 1).
constexpr int LANDMARKS = 1;
#include "particles.cuh"

struct Rules {
  static constexpr bool agents_collide = false;
  static constexpr float landmark_size = 0.0f;
  __device__ float size(int) const { return 0.05f; }
  __device__ Push push(int) const { return {5.0f, INFINITY}; }
};

// Shows the agent its velocity, and where the landmark is.
__device__ void look(const Plane& plane, float* observations) {
  const int env = env_id();
  if (lane() > 0) return;
  Row row{observations + env * OBSERVATION_SIZE};
  row.add(plane.velocity[env]);
  row.add(from_to(plane.position[env], plane.landmark[env]));
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* actions, float* observations, float* rewards) {
  if (!is_active()) return;  // guard
  const int env = env_id();
  move(plane, actions, Rules{});
  if (lane() == 0) rewards[env] = -squared(from_to(plane.position[env], plane.landmark[env]));
  look(plane, observations);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, float* observations) {
  if (!is_active()) return;  // guard
  scatter(plane, 1.0f);
  look(plane, observations);
}
