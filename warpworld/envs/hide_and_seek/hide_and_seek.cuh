// What the kernels of hide and seek share: the arrays of an env, who sees whom, and whether doors are shut.
#pragma once

#include <joints.cuh>

constexpr int BODIES = NUM_AGENTS + BOXES;  // agents come first
constexpr int WALLS = 4;                    // pieces of the room's two inner walls
constexpr int MASK_SIZE = 3 + 3 + 2 + 3;    // choices: along x, along y, let go or hold, nothing, lock or unlock
constexpr int STATE_SIZE = 5 * NUM_AGENTS + 6 * BOXES + 2 * DOORS + 2;
constexpr float HALF_WALL = 0.05f;          // metres
enum { BY_HIDERS = 1, BY_SEEKERS = 2 };     // teams that lock boxes

// Per env: of all bodies position, velocity, held and locked; wall, the middle and half the size of each; door, the middle
// of each; room, its middle and half its size. Of the world: shape, mass and drag of each body.
struct Store {
  float2 *position, *velocity;
  int *held, *locked;
  float4* wall;
  float2* door;
  float4* room;
  const float2* shape;
  const float *mass, *drag;
};

struct Rules {
  int episode_length, preparation;
  float side, top_speed, reach, door_width;
  bool seekers_lock;
};

__device__ bool is_hider(int agent) { return agent < HIDER_COUNT; }
__device__ int team_of(int agent) { return is_hider(agent) ? BY_HIDERS : BY_SEEKERS; }

__device__ Bodies bodies_of(const Store& store) {
  const int first = env_id() * BODIES;
  return Bodies{store.position + first, store.velocity + first, store.shape, store.mass, store.held + first,
                store.locked + first, BODIES};
}

__device__ Arena arena_of(const Store& store, float side) {
  return Arena{make_float2(0.0f, 0.0f), make_float2(side, side), store.wall + env_id() * WALLS, WALLS};
}

// ---- sight -----------------------------------------------------------------------------------------------------------
// Whether no wall and no box is between the middle of an agent and that of another body.
__device__ bool sees(const Store& store, const Bodies& all, int agent, int body) {
  using namespace plane;
  const Segment line{all.position[agent], all.position[body]};
  for (int w = 0; w < WALLS; ++w)
    if (cuts(rectangle(store.wall[env_id() * WALLS + w]), line)) return false;
  for (int box = NUM_AGENTS; box < BODIES; ++box)
    if (box != body && cuts(Rectangle{all.position[box], all.shape[box]}, line)) return false;
  return true;
}

// Whether an agent of the one side has one of the other in sight. in_sight: (bodies,) of the agent.
__device__ bool sees_any(const bool* in_sight, int first, int count) {
  bool any = false;
  for (int other = first; other < first + count; ++other) any |= in_sight[other];
  return any;
}

// ---- doors -----------------------------------------------------------------------------------------------------------
__device__ bool is_inside(const float4& room, float2 place) {
  return fabsf(place.x - room.x) < room.z && fabsf(place.y - room.y) < room.w;
}

// Whether one box leaves no way for an agent through a door: 0 no, 1 yes, 2 and hiders have locked it. axis: along which
// the door's wall runs.
__device__ int cover(const Bodies& all, float2 door, int axis, float door_width) {
  using bodies::along;
  const float agent = 2.0f * all.shape[0].x;
  int best = 0;
  for (int box = NUM_AGENTS; box < BODIES; ++box) {
    const float2 off = plane::operator-(all.position[box], door), half = all.shape[box];
    const float before = fabsf(along(off, 1 - axis)) - along(half, 1 - axis) - HALF_WALL;  // between box and wall
    const float beside = 0.5f * door_width + fabsf(along(off, axis)) - along(half, axis);  // of the door, where it is wider
    if (before < agent && beside < agent) best = max(best, all.locked[box] == BY_HIDERS ? 2 : 1);
  }
  return best;
}
