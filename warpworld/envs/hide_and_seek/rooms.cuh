// Where an episode of hide and seek begins: a room in a corner of the arena with one or two doors, and places of bodies
// that do not overlap, each in a cell of its own.
//
// All is laid out for a room in the lower right corner, and then mirrored.
#pragma once

#include "starts.cuh"

constexpr int CELLS = 27, IN_ROOM = 9;  // 3 x 3 of the room, of the part beside it, and of the part above it
constexpr float OFF_MIDDLE = 0.15f;     // of a cell, how far a door is at most off the middle of its cell

// How starts are drawn.
struct Starts {
  const float* start_away;  // of each env: 0 boxes are before their door, or shut their corner, 1 a cell away from it
  float near_doors, near_corner;
  bool hiders_start_inside, boxes_start_inside;
};

// The middle of the inner walls, which meet at a point.
struct Corner {
  float2 at;
  float side;
};

// The ends of a region along an axis; 0 the room, 1 beside it, 2 above it.
__device__ float low_of(const Corner& corner, int region, int axis) {
  if (axis == 0) return region == 1 ? 0.0f : corner.at.x + HALF_WALL;
  return region == 2 ? corner.at.y + HALF_WALL : 0.0f;
}
__device__ float high_of(const Corner& corner, int region, int axis) {
  if (axis == 0) return region == 1 ? corner.at.x - HALF_WALL : corner.side;
  return region == 2 ? corner.side : corner.at.y - HALF_WALL;
}

__device__ float2 size_of(const Corner& corner, int cell) {
  const int region = cell / IN_ROOM;
  return make_float2((high_of(corner, region, 0) - low_of(corner, region, 0)) / 3.0f,
                     (high_of(corner, region, 1) - low_of(corner, region, 1)) / 3.0f);
}

__device__ float2 middle_of(const Corner& corner, int cell) {
  const int region = cell / IN_ROOM, x = cell % 3, y = cell / 3 % 3;
  const float2 each = size_of(corner, cell);
  return make_float2(low_of(corner, region, 0) + each.x * ((float)x + 0.5f),
                     low_of(corner, region, 1) + each.y * ((float)y + 0.5f));
}

struct Quadrants {
  Corner corner;
  __device__ Cell at(int cell) const { return Cell{middle_of(corner, cell), size_of(corner, cell)}; }
  __device__ int next_to(int cell, int axis) const {
    const int place = axis ? cell / 3 % 3 : cell % 3;
    return place == 2 ? NOTHING : axis ? cell + 3 : cell + 1;
  }
};

// ---- walls -----------------------------------------------------------------------------------------------------------
// The two pieces of a wall that runs along an axis from `low` to `high`, on both sides of a gap.
__device__ void build(float4* wall, int axis, float across, float low, float high, float gap, float width) {
  const float from = gap - 0.5f * width, to = gap + 0.5f * width;
  const float middle[2] = {0.5f * (low + from), 0.5f * (to + high)}, half[2] = {0.5f * (from - low), 0.5f * (high - to)};
  for (int piece = 0; piece < 2; ++piece)
    wall[piece] = axis ? make_float4(across, middle[piece], HALF_WALL, half[piece])
                       : make_float4(middle[piece], across, half[piece], HALF_WALL);
}

// Where the doors are: in the west wall at the lower or the middle row of cells, in the north wall at another column.
struct Doorways {
  int row, column;
  float2 west, north;
};

__device__ Doorways doorways(Random& random, const Corner& corner) {
  const int row = (int)random.below(2u), column = row == 1 ? 2 : 1 + (int)random.below(2u);
  const float2 each = size_of(corner, 0);
  const float west = middle_of(corner, 3 * row).y + random.uniform(-OFF_MIDDLE, OFF_MIDDLE) * each.y;
  const float north = middle_of(corner, column).x + random.uniform(-OFF_MIDDLE, OFF_MIDDLE) * each.x;
  return Doorways{row, column, make_float2(corner.at.x, west), make_float2(north, corner.at.y)};
}

__device__ void build_room(const Store& store, const Rules& rules, const Corner& corner, const Doorways& doors) {
  const int env = env_id();
  const float x = corner.at.x, y = corner.at.y;
  float4* wall = store.wall + env * WALLS;
  build(wall, 1, x, 0.0f, y + HALF_WALL, doors.west.y, rules.door_width);
  build(wall + 2, 0, y, x - HALF_WALL, corner.side, doors.north.x, NUM_DOORS > 1 ? rules.door_width : 0.0f);
  store.door[env * DOOR_ROWS] = doors.west;
  if (NUM_DOORS > 1) store.door[env * DOOR_ROWS + 1] = doors.north;
  store.room[env] = make_float4(0.5f * (x + corner.side), 0.5f * y, 0.5f * (corner.side - x), 0.5f * y);
}

// ---- bodies ----------------------------------------------------------------------------------------------------------
// A box between the cell at its door and the next one, if both are free.
__device__ bool put_near_door(const Store& store, Random& random, const Corner& corner, const Doorways& doors, int body,
                              float away, Taken& taken) {
  const int axis = (body - NUM_AGENTS) % DOORS;  // across the wall of its door
  const int at_door = axis == 0 ? 3 * doors.row : doors.column + 6, next = axis == 0 ? at_door + 1 : at_door - 3;
  if (is_taken(taken, at_door) || is_taken(taken, next)) return false;
  taken |= (Taken)1 << at_door | (Taken)1 << next;
  float2 place = somewhere_in(random, Quadrants{corner}.at(at_door), store.shape[body]);
  const float2 each = size_of(corner, at_door);
  if (axis == 0)
    place.x += away * each.x;
  else
    place.y -= away * each.y;
  store.position[env_id() * BODIES + body] = place;
  return true;
}

__device__ void put_all(const Store& store, const Starts& starts, Random& random, const Corner& corner,
                        const Doorways& doors) {
  const Quadrants cells{corner};
  Taken taken = 0u;
  put_long_boxes(store, random, cells, taken, IN_ROOM, CELLS - IN_ROOM);
  put_ramps(store, random, cells, taken, IN_ROOM, CELLS - IN_ROOM);
  for (int body = NUM_AGENTS; body < NUM_AGENTS + BOXES; ++body) {
    const bool is_near = random.uniform() < starts.near_doors;
    if (is_near && put_near_door(store, random, corner, doors, body, starts.start_away[env_id()], taken)) continue;
    put(store, random, cells, taken, body, 0, starts.boxes_start_inside ? IN_ROOM : CELLS);
  }
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    const bool is_inside = is_hider(agent) && starts.hiders_start_inside;
    const int first = is_hider(agent) ? 0 : IN_ROOM, end = is_inside ? IN_ROOM : CELLS;
    put(store, random, cells, taken, agent, first, end - first);
  }
}

// Mirrors the arena of an env along both axes, or one of them.
__device__ float2 mirrored(float2 place, float side, bool x, bool y) {
  return make_float2(x ? side - place.x : place.x, y ? side - place.y : place.y);
}
__device__ float4 mirrored(float4 at, float side, bool x, bool y) {
  return make_float4(x ? side - at.x : at.x, y ? side - at.y : at.y, at.z, at.w);
}
__device__ void mirror(const Store& store, float side, bool x, bool y) {
  const int env = env_id();
  for (int i = env * BODIES; i < (env + 1) * BODIES; ++i) store.position[i] = mirrored(store.position[i], side, x, y);
  for (int i = env * WALLS; i < (env + 1) * WALLS; ++i) store.wall[i] = mirrored(store.wall[i], side, x, y);
  for (int i = env * DOOR_ROWS; i < (env + 1) * DOOR_ROWS; ++i) store.door[i] = mirrored(store.door[i], side, x, y);
  store.room[env] = mirrored(store.room[env], side, x, y);
}

// Lays out an env. With random rooms the inner walls meet anywhere in the middle tenth of the arena, and the room is in any
// of its corners.
__device__ void lay_out_room(const Store& store, const Rules& rules, const Starts& starts, Random& random) {
  const float side = rules.side, off = RANDOM_ROOMS ? 0.05f * side : 0.0f;
  const float x = 0.5f * side + random.uniform(-off, off), y = 0.5f * side + random.uniform(-off, off);
  const Corner corner{make_float2(x, y), side};
  const Doorways doors = doorways(random, corner);
  build_room(store, rules, corner, doors);
  put_all(store, starts, random, corner, doors);
  const unsigned quarter = RANDOM_ROOMS ? random.below(4u) : 0u;
  mirror(store, side, quarter & 1u, quarter >> 1 & 1u);
}
