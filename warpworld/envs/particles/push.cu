// Push: an agent wants to be at one of two landmarks, and an adversary, which does not know which, to keep it away, as
// mpe2's simple_push.
//
// Arrays: those of particles.cuh; goal (envs,) a landmark; observations_adversary and observations_agent, see look();
// rewards (envs, agents).
constexpr int LANDMARKS = 2;
#include "particles.cuh"

struct Rules {
  static constexpr bool agents_collide = true;
  static constexpr float landmark_size = 0.0f;
  __device__ float size(int) const { return 0.05f; }
  __device__ Push push(int) const { return {5.0f, INFINITY}; }
};

struct Seen {
  float* observations_adversary;
  float* observations_agent;
};

// The colour of a landmark: green or blue, `least` of what is in all and `more` of that.
__device__ void add_colour(Row& row, int landmark, float least, float more) {
  row.add(least);
  row.add(least + (landmark == 0 ? more : 0.0f));
  row.add(least + (landmark == 1 ? more : 0.0f));
}

// Shows the adversary its velocity, where landmarks are and where the agent is. The agent also sees where the goal is,
// its own colour, which is that of the goal, and the colours of landmarks.
__device__ void look(const Plane& plane, int goal, const Seen& seen) {
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2 *position = plane.position + first, *landmark = plane.landmark + env * LANDMARKS;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const bool knows = agent == AGENT_FIRST;
    Row row{knows ? seen.observations_agent + env * OBSERVATION_SIZE_AGENT
                  : seen.observations_adversary + env * OBSERVATION_SIZE_ADVERSARY};
    row.add(plane.velocity[first + agent]);
    if (knows) row.add(from_to(position[agent], landmark[goal]));
    if (knows) add_colour(row, goal, 0.25f, 0.5f);
    row.add_places(landmark, 0, LANDMARKS, position[agent]);
    if (knows)
      for (int l = 0; l < LANDMARKS; ++l) add_colour(row, l, 0.1f, 0.8f);
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
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const float others = agent == AGENT_FIRST ? 0.0f : distance(position[AGENT_FIRST], place);
    rewards[first + agent] = others - distance(position[agent], place);
  }
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
