// Reference: each of two agents knows to which landmark the other should walk, and says one of ten words in each step,
// as mpe2's simple_reference.
//
// Arrays: those of particles.cuh; goal (envs, agents) the landmark to which the other should walk; word (envs, agents),
// -1 at the start; observations (envs, agents, ...); overview (envs, agents, 8), what critics read, see look(); rewards
// (envs, agents). Read: actions, of which action / PUSHES is a word.
constexpr int LANDMARKS = 3;
#include "particles.cuh"

constexpr int WORDS = 10, OVERVIEW = 8;

struct Rules {
  static constexpr bool agents_collide = false;
  static constexpr float landmark_size = 0.0f;
  __device__ float size(int) const { return 0.05f; }
  __device__ Push push(int) const { return {5.0f, INFINITY}; }
};

struct Seen {
  float* observations;
  float* overview;
};

// Where an agent should walk to, as seen from it.
__device__ float2 ahead(const Plane& plane, const int* goal, int agent) {
  const int env = env_id(), first = env * NUM_AGENTS;
  return from_to(plane.position[first + agent], plane.landmark[env * LANDMARKS + goal[first + 1 - agent]]);
}

// Shows each agent its velocity, where landmarks are, the colour of the other's goal, and the other's word. Shows
// critics how both move and where each should walk to, of the own agent first.
__device__ void look(const Plane& plane, const int* goal, const int* word, const Seen& seen) {
  const int env = env_id(), first = env * NUM_AGENTS;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = first + agent, other = 1 - agent;
    Row row{seen.observations + (size_t)i * OBSERVATION_SIZE};
    row.add(plane.velocity[i]);
    row.add_places(plane.landmark + env * LANDMARKS, 0, LANDMARKS, plane.position[i]);
    for (int l = 0; l < LANDMARKS; ++l) row.add(l == goal[i] ? 0.75f : 0.25f);
    row.add_one_of(WORDS, word[first + other]);
    Row overview{seen.overview + (size_t)i * OVERVIEW};
    overview.add(plane.velocity[i]);
    overview.add(ahead(plane, goal, agent));
    overview.add(plane.velocity[first + other]);
    overview.add(ahead(plane, goal, other));
  }
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* goal, int* word, const int* actions, Seen seen,
                                float* rewards, float local_ratio) {
  if (!is_active()) return;  // guard
  const int env = env_id(), first = env * NUM_AGENTS;
  for (int i = first + lane(); i < first + NUM_AGENTS; i += num_lanes()) word[i] = actions[i] / PUSHES;
  move(plane, actions, Rules{});
  float left[NUM_AGENTS], sum = 0.0f;  // how far the other is from where the agent would have it
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    left[agent] = sqrtf(squared(ahead(plane, goal, 1 - agent)));
    sum += left[agent];
  }
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    rewards[first + agent] = -local_ratio * left[agent] - (1.0f - local_ratio) * sum / (float)NUM_AGENTS;
  look(plane, goal, word, seen);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, int* goal, int* word, Seen seen) {
  if (!is_active()) return;  // guard
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    goal[env_id() * NUM_AGENTS + agent] = (int)Random::of(NUM_AGENTS + LANDMARKS + agent).below(LANDMARKS);
    word[env_id() * NUM_AGENTS + agent] = -1;
  }
  scatter(plane, 1.0f);
  look(plane, goal, word, seen);
}
