// Pursuit: slow adversaries chase fast agents among obstacles, which stop both, as mpe2's simple_tag.
//
// Arrays: those of particles.cuh; observations_adversary and observations_agent, see look(); rewards (envs, agents).
// Read: prey_speed (envs,), a factor of the agents' speed and force.
constexpr int LANDMARKS = OBSTACLES;
#include "particles.cuh"

constexpr float CATCHER = 0.075f, PREY = 0.05f, TOUCHING = CATCHER + PREY;
constexpr float FOR_TOUCH = 10.0f;

__device__ bool is_adversary(int agent) { return agent < ADVERSARY_COUNT; }

struct Rules {
  static constexpr bool agents_collide = true;
  static constexpr float landmark_size = 0.2f;
  static constexpr int solid_landmarks = OBSTACLES;
  const float* prey_speed;

  __device__ float size(int agent) const { return is_adversary(agent) ? CATCHER : PREY; }
  __device__ Push push(int agent) const {
    const float pace = prey_speed[env_id()];
    return is_adversary(agent) ? Push{3.0f, 1.0f} : Push{4.0f * pace, 1.3f * pace};
  }
};

struct Seen {
  float* observations_adversary;
  float* observations_agent;
};

// Shows each agent its velocity and place, where obstacles and others are, and how other agents that are chased move.
__device__ void look(const Plane& plane, const Seen& seen) {
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2 *position = plane.position + first, *velocity = plane.velocity + first;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int of_adversary = env * ADVERSARY_COUNT + agent, of_agent = env * AGENT_COUNT + agent - AGENT_FIRST;
    Row row{is_adversary(agent) ? seen.observations_adversary + (size_t)of_adversary * OBSERVATION_SIZE_ADVERSARY
                                : seen.observations_agent + (size_t)of_agent * OBSERVATION_SIZE_AGENT};
    row.add(velocity[agent]);
    row.add(position[agent]);
    row.add_places(plane.landmark + env * LANDMARKS, 0, LANDMARKS, position[agent]);
    row.add_others(position, agent);
    for (int other = AGENT_FIRST; other < NUM_AGENTS; ++other)
      if (other != agent) row.add(velocity[other]);
  }
}

// How many adversaries touch an agent.
__device__ int touches(const float2* position, int agent) {
  int count = 0;
  for (int other = 0; other < ADVERSARY_COUNT; ++other)
    count += squared(from_to(position[agent], position[other])) < TOUCHING * TOUCHING;
  return count;
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* actions, Seen seen, float* rewards,
                                const float* prey_speed) {
  if (!is_active()) return;  // guard
  ENV_SHARED(int, touched, AGENT_COUNT);
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2* position = plane.position + first;
  move(plane, actions, Rules{prey_speed});
  for (int agent = AGENT_FIRST + lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int count = touched[agent - AGENT_FIRST] = touches(position, agent);
    rewards[first + agent] = -FOR_TOUCH * (float)count - outside(position[agent].x) - outside(position[agent].y);
  }
  sync_env();  // all touches are counted before they are summed
  int all = 0;
  for (int agent = 0; agent < AGENT_COUNT; ++agent) all += touched[agent];
  for (int agent = lane(); agent < ADVERSARY_COUNT; agent += num_lanes())
    rewards[first + agent] = FOR_TOUCH * (float)all;
  look(plane, seen);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, Seen seen) {
  if (!is_active()) return;  // guard
  scatter(plane, 0.9f);
  look(plane, seen);
}
