// What games of particles share: discs that push themselves over a plane, slow down, and push each other away.
//
// Arrays: position and velocity (envs, agents, 2), landmark (envs, LANDMARKS, 2); read: actions (envs, agents, 1), of
// which action % 5 is a push: 0 none, 1 left, 2 right, 3 down, 4 up; damping and mass (envs,). A game defines LANDMARKS
// before it includes this file. Loops run over agents, so that any number of threads will do.
#pragma once

#include <warpworld.cuh>

constexpr float TIME_STEP = 0.1f, CONTACT_FORCE = 100.0f, CONTACT_MARGIN = 1e-3f;
constexpr float REACH = 20.0f * CONTACT_MARGIN;  // a gap beyond which a contact's force is below 1e-9
constexpr int PUSHES = 5;

struct Plane {
  float2* position;
  float2* velocity;
  float2* landmark;
  const float* damping;
  const float* mass;
};

// When an episode is cut.
struct TimeLimit {
  const int* timestep;
  bool* truncated;
  int episode_length;
};

// How an agent pushes itself.
struct Push {
  float force, max_speed;
};

__device__ float2 from_to(float2 a, float2 b) { return make_float2(b.x - a.x, b.y - a.y); }
__device__ float squared(float2 v) { return v.x * v.x + v.y * v.y; }
__device__ float distance(float2 a, float2 b) { return sqrtf(squared(from_to(a, b))); }

__device__ float2 pushed(int action, float force) {
  const int push = action % PUSHES;
  return make_float2(force * (float)((push == 2) - (push == 1)), force * (float)((push == 4) - (push == 3)));
}

// Adds the force with which a disc at `other` pushes one at `here` away, whose radii add up to `touching`.
__device__ void add_contact(float2& force, float2 here, float2 other, float touching) {
  const float2 away = from_to(other, here);
  const float square = squared(away), reach = touching + REACH;
  if (square >= reach * reach || square == 0.0f) return;
  const float between = sqrtf(square), depth = touching - between;
  const float soft = fmaxf(depth, 0.0f) + CONTACT_MARGIN * log1pf(expf(-fabsf(depth) / CONTACT_MARGIN));
  force.x += CONTACT_FORCE * soft * away.x / between;
  force.y += CONTACT_FORCE * soft * away.y / between;
}

// Adds the forces of all that an agent bumps into. Rules are a game's: agents_collide; landmark_size, 0 where nothing
// bumps into landmarks, and else solid_landmarks, how many of the first landmarks agents bump into; size(agent), a radius; push(agent).
template <typename Rules>
__device__ void add_contacts(float2& force, const float2* position, const float2* landmark, int agent,
                             const Rules& rules) {
  const float2 here = position[agent];
  const float size = rules.size(agent);
  if (Rules::agents_collide)
    for (int other = 0; other < NUM_AGENTS; ++other)
      if (other != agent) add_contact(force, here, position[other], size + rules.size(other));
  if constexpr (Rules::landmark_size > 0.0f)
    for (int l = 0; l < Rules::solid_landmarks; ++l) add_contact(force, here, landmark[l], size + Rules::landmark_size);
}

// Moves all agents by one step of time.
template <typename Rules>
__device__ void move(const Plane& plane, const int* actions, const Rules& rules) {
  ENV_SHARED(float2, forces, NUM_AGENTS);
  const int env = env_id(), first = env * NUM_AGENTS;
  float2 *position = plane.position + first, *velocity = plane.velocity + first;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    float2 force = pushed(actions[first + agent], rules.push(agent).force);
    add_contacts(force, position, plane.landmark + env * LANDMARKS, agent, rules);
    forces[agent] = force;
  }
  sync_env();  // all forces are known before any agent moves
  const float kept = 1.0f - plane.damping[env], gain = TIME_STEP / plane.mass[env];
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const float2 place = position[agent], before = velocity[agent], force = forces[agent];
    float2 next = make_float2(kept * before.x + gain * force.x, kept * before.y + gain * force.y);
    const float speed = sqrtf(squared(next)), most = rules.push(agent).max_speed;
    if (speed > most) next = make_float2(next.x / speed * most, next.y / speed * most);
    position[agent] = make_float2(place.x + TIME_STEP * before.x, place.y + TIME_STEP * before.y);
    velocity[agent] = next;
  }
  sync_env();  // all agents have moved before any of them looks
}

// Puts agents and landmarks on random places, at rest; landmarks within `landmark_range` of the middle.
__device__ void scatter(const Plane& plane, float landmark_range) {
  const int env = env_id(), first = env * NUM_AGENTS;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    Random random = Random::of(agent);
    const float x = random.uniform(-1.0f, 1.0f);
    plane.position[first + agent] = make_float2(x, random.uniform(-1.0f, 1.0f));
    plane.velocity[first + agent] = make_float2(0.0f, 0.0f);
  }
  for (int l = lane(); l < LANDMARKS; l += num_lanes()) {
    Random random = Random::of(NUM_AGENTS + l);
    const float x = random.uniform(-landmark_range, landmark_range);
    plane.landmark[env * LANDMARKS + l] = make_float2(x, random.uniform(-landmark_range, landmark_range));
  }
  sync_env();  // all are placed before any of them looks
}

// Writes one part of an observation after the other.
struct Row {
  float* next;

  __device__ void add(float value) { *next++ = value; }
  __device__ void add(float2 pair) {
    *next++ = pair.x;
    *next++ = pair.y;
  }
  // Where some places are as seen from one.
  __device__ void add_places(const float2* places, int begin, int end, float2 from) {
    for (int k = begin; k < end; ++k) add(from_to(from, places[k]));
  }
  // Where all agents but one are as seen from it.
  __device__ void add_others(const float2* position, int agent) {
    add_places(position, 0, agent, position[agent]);
    add_places(position, agent + 1, NUM_AGENTS, position[agent]);
  }
  __device__ void add_zeros(int count) {
    for (int k = 0; k < count; ++k) add(0.0f);
  }
  // A one in one of the places, or in none where it is -1.
  __device__ void add_one_of(int count, int which) {
    for (int k = 0; k < count; ++k) add(k == which ? 1.0f : 0.0f);
  }
};

// What an agent pays for leaving the square, along one axis.
__device__ float outside(float x) {
  const float far = fabsf(x);
  return far < 0.9f ? 0.0f : far < 1.0f ? 10.0f * (far - 0.9f) : fminf(expf(2.0f * far - 2.0f), 10.0f);
}

__device__ void cut(const TimeLimit& limit) {
  const int env = env_id();
  if (lane() == 0) limit.truncated[env] = limit.timestep[env] >= limit.episode_length;
}
