// Players of hide and seek that do not learn: a seeker that searches, and a hider that flees. What they choose by is in
// Played, see script.cuh.
#pragma once

#include <script.cuh>

#include "hide_and_seek.cuh"

constexpr int PATROL = 25;         // steps in which a seeker is after one door, or the quarter opposite the room
constexpr float NEAR_DOOR = 0.7f;  // metres from a door at which it goes in
constexpr float CLOSE = 0.1f;      // metres off its target that an agent leaves uncorrected along an axis
constexpr float LOOK_AHEAD = 0.2f; // metres that a hider looks ahead: less than a wall with an agent on both of its sides

// The nearest of some agents that another one sees, or NOTHING.
__device__ int nearest_in_sight(const Bodies& all, const bool* in_sight, int agent, int first, int count) {
  int nearest = NOTHING;
  float least = INFINITY;
  for (int other = first; other < first + count; ++other) {
    const float distance = plane::length(plane::operator-(all.position[other], all.position[agent]));
    if (!in_sight[other] || !(distance < least)) continue;
    least = distance;
    nearest = other;
  }
  return nearest;
}

// Whether a wall is on a line.
__device__ bool is_walled_off(const Store& store, float2 from, float2 to) {
  for (int w = 0; w < WALLS; ++w)
    if (plane::cuts(plane::rectangle(store.wall[env_id() * WALLS + w]), plane::Segment{from, to})) return true;
  return false;
}

// Where a seeker goes that sees no hider: to a door and in, round the room, or to the quarter opposite it, from which it
// sees both doors.
__device__ float2 place_by_room(const Store& store, float2 here, float side, int turn) {
  using namespace plane;
  const int env = env_id();
  const float4 room = store.room[env];
  const float2 middle = make_float2(room.x, room.y), opposite = make_float2(side - room.x, side - room.y);
  if (is_inside(room, here)) {  // along its diagonals
    const float x = turn & 1 ? 0.5f : -0.5f, y = turn & 2 ? 0.5f : -0.5f;
    return middle + make_float2(x * room.z, y * room.w);
  }
  const int number = turn % (NUM_DOORS + 1);
  if (number == NUM_DOORS) return opposite;
  const float2 door = store.door[env * DOOR_ROWS + number];
  if (length(door - here) < NEAR_DOOR) return middle;
  return is_walled_off(store, here, door) ? opposite : door;
}

// The same in the open: from quarter to quarter.
__device__ float2 place_in_open(float side, int turn) {
  return make_float2(turn & 1 ? 0.75f * side : 0.25f * side, turn & 2 ? 0.75f * side : 0.25f * side);
}

// The same where walls make rooms: through one door after the other that lies straight ahead, to the side of it whose turn
// it is.
__device__ float2 place_by_doors(const Store& store, float2 here, int turn) {
  using namespace plane;
  for (int i = 0; i < DOOR_ROWS; ++i) {
    const int door = (turn / 2 + i) % DOOR_ROWS;
    const float2 at = store.door[env_id() * DOOR_ROWS + door];
    const float beyond = turn & 1 ? NEAR_DOOR : -NEAR_DOOR;
    const float2 way = axis_of_door(store, door) ? make_float2(beyond, 0.0f) : make_float2(0.0f, beyond);
    if (!is_walled_off(store, here, at + way)) return at + way;
    if (!is_walled_off(store, here, at)) return length(at - here) < CLOSE ? at + way : at;
  }
  return here;
}

__device__ float2 place_to_search(const Store& store, const Bodies& all, float side, int agent, int time) {
  const int turn = time / PATROL + agent;
  const float2 here = all.position[agent];
  return ROOMS == 0   ? place_in_open(side, turn)
         : ROOMS == 1 ? place_by_room(store, here, side, turn)
                      : place_by_doors(store, here, turn);
}

// Whether an agent could stand at a place: in the arena, and in no wall or box.
__device__ bool is_free(const Store& store, const Bodies& all, float side, int agent, float2 place) {
  using namespace bodies;
  const float radius = all.shape[agent].x;
  if (place.x < radius || place.y < radius || place.x > side - radius || place.y > side - radius) return false;
  for (int w = 0; w < WALLS; ++w) {
    const Rectangle wall = rectangle(store.wall[env_id() * WALLS + w]);
    if (gap_to(Rounded{wall.half, radius}, place - wall.centre) < 0.0f) return false;
  }
  for (int box = NUM_AGENTS; box < BODIES; ++box)
    if (gap_to(Rounded{all.shape[box], radius}, place - all.position[box]) < 0.0f) return false;
  return true;
}

// Writes logits of an agent that pushes in a direction, each part -1, 0 or 1, and holds and locks nothing.
__device__ void walk(float* logits, int x, int y) {
  logits = choose(logits, 3, x + 1);
  logits = choose(logits, 3, y + 1);
  logits = choose(logits, 2, 0);
  choose(logits, 3, 0);
}

__device__ int step_towards(float offset) { return offset > CLOSE ? 1 : offset < -CLOSE ? -1 : 0; }
