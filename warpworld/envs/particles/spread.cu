// Spread: agents share out as many landmarks among themselves without bumping into each other, as mpe2's simple_spread.
//
// Arrays: those of particles.cuh; observations (envs, agents, ...), see look(); rewards (envs, agents).
constexpr int LANDMARKS = NUM_AGENTS;
#include "particles.cuh"

constexpr float SIZE = 0.15f;
constexpr int CHANNELS = 2;  // of messages, which no agent sends

struct Rules {
  static constexpr bool agents_collide = true;
  static constexpr float landmark_size = 0.0f;
  __device__ float size(int) const { return SIZE; }
  __device__ Push push(int) const { return {5.0f, INFINITY}; }
};

// Shows each agent its velocity and place, where landmarks and others are, and others' messages.
__device__ void look(const Plane& plane, float* observations) {
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2 *position = plane.position + first, *landmark = plane.landmark + env * LANDMARKS;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    Row row{observations + (size_t)(first + agent) * OBSERVATION_SIZE};
    row.add(plane.velocity[first + agent]);
    row.add(position[agent]);
    row.add_places(landmark, 0, LANDMARKS, position[agent]);
    row.add_others(position, agent);
    row.add_zeros(CHANNELS * (NUM_AGENTS - 1));
  }
}

// How far a landmark is from the agent nearest to it.
__device__ float uncovered(const float2* position, float2 landmark) {
  float nearest = INFINITY;
  for (int agent = 0; agent < NUM_AGENTS; ++agent)
    nearest = fminf(nearest, squared(from_to(position[agent], landmark)));
  return sqrtf(nearest);
}

__device__ int collisions(const float2* position, int agent) {
  int count = 0;
  for (int other = 0; other < NUM_AGENTS; ++other)
    count += other != agent && squared(from_to(position[agent], position[other])) < 4.0f * SIZE * SIZE;
  return count;
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* actions, float* observations, float* rewards,
                                float local_ratio) {
  if (!is_active()) return;  // guard
  ENV_SHARED(float, distances, LANDMARKS);
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2* position = plane.position + first;
  move(plane, actions, Rules{});
  for (int l = lane(); l < LANDMARKS; l += num_lanes())
    distances[l] = uncovered(position, plane.landmark[env * LANDMARKS + l]);
  sync_env();  // the distances of all landmarks are there before they are summed
  float all = 0.0f;
  for (int l = 0; l < LANDMARKS; ++l) all -= distances[l];
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    rewards[first + agent] = (1.0f - local_ratio) * all - local_ratio * (float)collisions(position, agent);
  look(plane, observations);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, float* observations) {
  if (!is_active()) return;  // guard
  scatter(plane, 1.0f);
  look(plane, observations);
}
