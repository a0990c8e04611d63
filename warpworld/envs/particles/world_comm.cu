// World with communication: adversaries, whose leader says words, chase faster agents that look for food and hide in
// forests, as mpe2's simple_world_comm.
//
// Arrays: those of particles.cuh, landmarks being obstacles, food and forests in this order; word (envs,) of the leader, -1
// at the start; observations_leadadversary, observations_adversary and observations_agent, see look(); rewards (envs,
// agents). Read: actions, of the leader push + 5 * word.
constexpr int FIRST_FOOD = OBSTACLES, FIRST_FOREST = OBSTACLES + FOOD, LANDMARKS = FIRST_FOREST + FORESTS;
#include "particles.cuh"

constexpr int WORDS = 4, LEADER = LEADADVERSARY_FIRST, HUNTERS = 1 + ADVERSARY_COUNT;
constexpr float CATCHER = 0.075f, PREY = 0.045f, FOOD_SIZE = 0.03f, FOREST_SIZE = 0.3f;
constexpr float FOR_TOUCH = 5.0f, FOR_FOOD = 2.0f;

__device__ bool is_adversary(int agent) { return agent < HUNTERS; }
__device__ float size_of(int agent) { return is_adversary(agent) ? CATCHER : PREY; }

struct Rules {
  static constexpr bool agents_collide = true;
  static constexpr float landmark_size = 0.2f;
  static constexpr int solid_landmarks = OBSTACLES;
  __device__ float size(int agent) const { return size_of(agent); }
  __device__ Push push(int agent) const { return is_adversary(agent) ? Push{3.0f, 1.0f} : Push{4.0f, 1.3f}; }
};

struct Seen {
  float *observations_leadadversary, *observations_adversary, *observations_agent;
};

__device__ bool touch(float2 a, float2 b, float sizes) { return squared(from_to(a, b)) < sizes * sizes; }

__device__ bool is_in(const float2* forests, int forest, float2 place, int agent) {
  return touch(forests[forest], place, size_of(agent) + FOREST_SIZE);
}

// Whether an agent sees another one: the leader sees all, the rest those in one forest with it, and in the open all others
// in the open.
__device__ bool sees(const float2* forests, const float2* position, int agent, int other) {
  bool is_hidden = false;
  for (int f = 0; f < FORESTS; ++f) {
    const bool own = is_in(forests, f, position[agent], agent), its = is_in(forests, f, position[other], other);
    if (own && its) return true;
    is_hidden |= own || its;
  }
  return !is_hidden || agent == LEADER;
}

// Shows each agent its velocity and place, where landmarks are, the places of others that it sees, how agents among them
// that are chased move, which forests it is in, and the adversaries the leader's word.
__device__ void look(const Plane& plane, const Seen& seen, int word) {
  const int env = env_id(), first = env * NUM_AGENTS;
  const float2 *position = plane.position + first, *velocity = plane.velocity + first;
  const float2 *landmark = plane.landmark + env * LANDMARKS, *forests = landmark + FIRST_FOREST;
  const float2 nothing = make_float2(0.0f, 0.0f);
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int adversary = env * ADVERSARY_COUNT + agent - ADVERSARY_FIRST;
    const int prey = env * AGENT_COUNT + agent - AGENT_FIRST;
    Row row{agent == LEADER       ? seen.observations_leadadversary + (size_t)env * OBSERVATION_SIZE_LEADADVERSARY
            : is_adversary(agent) ? seen.observations_adversary + (size_t)adversary * OBSERVATION_SIZE_ADVERSARY
                                  : seen.observations_agent + (size_t)prey * OBSERVATION_SIZE_AGENT};
    row.add(velocity[agent]);
    row.add(position[agent]);
    row.add_places(landmark, 0, LANDMARKS, position[agent]);
    for (int other = 0; other < NUM_AGENTS; ++other)
      if (other != agent)
        row.add(sees(forests, position, agent, other) ? from_to(position[agent], position[other]) : nothing);
    if (!is_adversary(agent))
      for (int f = 0; f < FORESTS; ++f) row.add(is_in(forests, f, position[agent], agent) ? 1.0f : -1.0f);
    for (int other = AGENT_FIRST; other < NUM_AGENTS; ++other)
      if (other != agent) row.add(sees(forests, position, agent, other) ? velocity[other] : nothing);
    if (!is_adversary(agent)) continue;
    for (int f = 0; f < FORESTS; ++f) row.add(is_in(forests, f, position[agent], agent) ? 1.0f : -1.0f);
    row.add_one_of(WORDS, word);
  }
}

// The distance from the nearest of some places.
__device__ float nearest(const float2* places, int count, float2 from) {
  float least = INFINITY;
  for (int k = 0; k < count; ++k) least = fminf(least, distance(places[k], from));
  return least;
}

// How many of some discs touch one.
__device__ int touches(const float2* places, int count, float2 at, float sizes) {
  int sum = 0;
  for (int k = 0; k < count; ++k) sum += touch(places[k], at, sizes);
  return sum;
}

__device__ float earned_by_prey(const float2* position, const float2* food, int agent, int touched) {
  const float2 place = position[agent];
  return -FOR_TOUCH * (float)touched - 2.0f * (outside(place.x) + outside(place.y)) +
         FOR_FOOD * (float)touches(food, FOOD, place, PREY + FOOD_SIZE) - 0.05f * nearest(food, FOOD, place);
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* actions, int* word, Seen seen,
                                float* rewards) {
  if (!is_active()) return;  // guard
  ENV_SHARED(int, touched, AGENT_COUNT);
  const int env = env_id(), first = env * NUM_AGENTS, said = actions[first + LEADER] / PUSHES;
  const float2 *position = plane.position + first, *food = plane.landmark + env * LANDMARKS + FIRST_FOOD;
  move(plane, actions, Rules{});
  if (lane() == 0) word[env] = said;
  for (int agent = AGENT_FIRST + lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int count = touched[agent - AGENT_FIRST] = touches(position, HUNTERS, position[agent], CATCHER + PREY);
    rewards[first + agent] = earned_by_prey(position, food, agent, count);
  }
  sync_env();  // all touches are counted before they are summed
  int all = 0;
  for (int agent = 0; agent < AGENT_COUNT; ++agent) all += touched[agent];
  for (int agent = lane(); agent < HUNTERS; agent += num_lanes())
    rewards[first + agent] =
        FOR_TOUCH * (float)all - 0.1f * nearest(position + AGENT_FIRST, AGENT_COUNT, position[agent]);
  look(plane, seen, said);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, int* word, Seen seen) {
  if (!is_active()) return;  // guard
  if (lane() == 0) word[env_id()] = -1;
  scatter(plane, 0.9f);
  look(plane, seen, -1);
}
