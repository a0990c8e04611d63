// Adversary: agents want one of them at the goal among the landmarks, and an adversary that does not know which it is
// far from it, as mpe2's simple_adversary. Agents pass through each other.
//
// Arrays: those of particles.cuh; goal (envs,) a landmark; observations_adversary and observations_agent, see look();
// rewards (envs, agents).
constexpr int LANDMARKS = AGENT_COUNT;
#include "particles.cuh"

constexpr int ADVERSARY = ADVERSARY_FIRST;

struct Rules {
  static constexpr bool agents_collide = false;
  static constexpr float landmark_size = 0.0f;
  __device__ float size(int) const { return 0.15f; }
  __device__ Push push(int) const { return {5.0f, INFINITY}; }
};

struct Seen {
  float* observations_adversary;
  float* observations_agent;
};

// Shows all where landmarks and others are, and agents, first of all, where the goal is.
__device__ void look(const Plane& plane, int goal, const Seen& seen) {
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2 *position = plane.position + first, *landmark = plane.landmark + env * LANDMARKS;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int of_agent = env * AGENT_COUNT + agent - AGENT_FIRST;
    Row row{agent == ADVERSARY ? seen.observations_adversary + (size_t)env * OBSERVATION_SIZE_ADVERSARY
                               : seen.observations_agent + (size_t)of_agent * OBSERVATION_SIZE_AGENT};
    if (agent != ADVERSARY) row.add(from_to(position[agent], landmark[goal]));
    row.add_places(landmark, 0, LANDMARKS, position[agent]);
    row.add_others(position, agent);
  }
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* goal, const int* actions, Seen seen,
                                float* rewards) {
  if (!is_active()) return;  // guard
  const int env = env_id(), first = env * NUM_AGENTS;
  move(plane, actions, Rules{});
  const float2* position = plane.position + first;
  const float2 place = plane.landmark[env * LANDMARKS + goal[env]];
  const float others = distance(position[ADVERSARY], place);
  float nearest = INFINITY;
  for (int agent = AGENT_FIRST; agent < NUM_AGENTS; ++agent) nearest = fminf(nearest, distance(position[agent], place));
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    rewards[first + agent] = agent == ADVERSARY ? -others : others - nearest;
  look(plane, goal[env], seen);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, int* goal, Seen seen) {
  if (!is_active()) return;  // guard
  const int drawn = (int)Random::env().below(LANDMARKS);
  if (lane() == 0) goal[env_id()] = drawn;
  scatter(plane, 1.0f);
  look(plane, drawn, seen);
}
