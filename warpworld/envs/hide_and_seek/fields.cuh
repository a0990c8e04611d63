// Where an episode of hide and seek begins without a room in a corner: an open field, or one that walls with a door each
// divide into rooms. Bodies start anywhere, each in a cell of a grid. In the open, hiders may start in a corner, and two long
// boxes, which can shut it, near its open sides.
//
// Walls lie on the lines of the grid, and a door in the part of a wall beside one cell. So no wall ends in a door, and each
// room can be reached from each other one.
#pragma once

#include "rooms.cuh"

constexpr int GRID = 6, FIELD_CELLS = GRID * GRID;  // cells along a side, and all
constexpr int LEAST = 2;                            // cells, the width of a room
constexpr int MOST_ROOMS = ROOMS > 1 ? ROOMS : 1;
constexpr int SHUTTERS = 2;  // long boxes that shut a corner, one along each axis

// Cells low.x .. high.x - 1 and low.y .. high.y - 1.
struct Block {
  int low[2], high[2];
  __device__ bool has(int cell) const {
    const int x = cell % GRID, y = cell / GRID;
    return x >= low[0] && x < high[0] && y >= low[1] && y < high[1];
  }
  __device__ bool can_be_split(int axis) const { return high[axis] - low[axis] >= 2 * LEAST; }
};

struct Field {
  float side;
  int num_rooms;
  Block rooms[MOST_ROOMS];

  __device__ float width() const { return side / (float)GRID; }
  __device__ Cell at(int cell) const {
    const float each = width(), inner = each - 2.0f * HALF_WALL;
    return Cell{make_float2(each * ((float)(cell % GRID) + 0.5f), each * ((float)(cell / GRID) + 0.5f)),
                make_float2(inner, inner)};
  }
  __device__ int room_of(int cell) const {
    for (int room = 0; room < num_rooms; ++room)
      if (rooms[room].has(cell)) return room;
    return NOTHING;
  }
  __device__ int next_to(int cell, int axis) const {
    const int place = axis ? cell / GRID : cell % GRID, next = axis ? cell + GRID : cell + 1;
    return place < GRID - 1 && room_of(cell) == room_of(next) ? next : NOTHING;
  }
};

// One of the ways to split a room in two, all of them as likely: the room and the axis along which its wall runs.
struct Split {
  int room, axis;
};
__device__ Split draw_split(Random& random, const Field& field) {
  int ways = 0;
  for (int room = 0; room < field.num_rooms; ++room)
    for (int axis = 0; axis < 2; ++axis) ways += field.rooms[room].can_be_split(1 - axis);
  int skipped = (int)random.below((unsigned)ways);
  for (int room = 0; room < field.num_rooms; ++room)
    for (int axis = 0; axis < 2; ++axis)
      if (field.rooms[room].can_be_split(1 - axis) && skipped-- == 0) return Split{room, axis};
  return Split{0, 0};
}

// Puts a wall with a door into a room, which becomes two.
__device__ void divide(const Store& store, const Rules& rules, Random& random, Field& field) {
  const Split split = draw_split(random, field);
  const int along = split.axis, across = 1 - along, number = field.num_rooms - 1;
  Block& room = field.rooms[split.room];
  const int lines = room.high[across] - room.low[across] - 2 * LEAST + 1;
  const int line = room.low[across] + LEAST + (int)random.below((unsigned)lines);
  const int cell = room.low[along] + (int)random.below((unsigned)(room.high[along] - room.low[along]));
  const float each = field.width(), play = 0.5f * (each - rules.door_width) - HALF_WALL;  // at least 0, see hide_and_seek.py
  const float gap = each * ((float)cell + 0.5f) + random.uniform(-play, play), at = each * (float)line;
  build(store.wall + env_id() * WALLS + 2 * number, along, at, each * (float)room.low[along],
        each * (float)room.high[along], gap, rules.door_width);
  store.door[env_id() * DOOR_ROWS + number] = along ? make_float2(at, gap) : make_float2(gap, at);
  Block& other = field.rooms[field.num_rooms++];
  other = room;
  room.high[across] = other.low[across] = line;
}

// ---- a corner --------------------------------------------------------------------------------------------------------
// Puts a long box at each open side of the lower left corner: where both leave no way in, or `away` cells off. Its cells are
// taken, and those in which the boxes are.
__device__ void put_shutters(const Store& store, const Field& field, float away, Taken& taken) {
  for (int axis = 0; axis < 2; ++axis) {  // across the box
    const int body = NUM_AGENTS + BOXES + 1 - axis;
    const float2 half = store.shape[body];
    const float length = axis ? half.x : half.y, thick = axis ? half.y : half.x;
    const float across = 2.0f * length + thick + 2.0f * MARGIN + away * field.width(), along = length + MARGIN;
    store.position[env_id() * BODIES + body] = axis ? make_float2(along, across) : make_float2(across, along);
  }
  for (int cell = 0; cell < FIELD_CELLS; ++cell) {
    const int x = cell % GRID, y = cell / GRID;
    if ((x < LEAST && y <= LEAST) || (x <= LEAST && y < LEAST)) taken |= (Taken)1 << cell;
  }
}

// Puts a hider into one of the quarters of that corner.
__device__ void put_in_corner(const Store& store, Random& random, int hider, int first) {
  const float2 half = store.shape[NUM_AGENTS + BOXES];
  const float each = plane::larger(half.x, half.y);
  const int quarter = (first + hider) % 4;
  const Cell cell{make_float2(each * ((float)(quarter % 2) + 0.5f), each * ((float)(quarter / 2) + 0.5f)),
                  make_float2(each, each)};
  store.position[env_id() * BODIES + hider] = somewhere_in(random, cell, store.shape[hider]);
}

// Whether an episode begins near a corner. Nothing is drawn where none can.
__device__ bool begins_near_corner(const Starts& starts, Random& random) {
  return ROOMS == 0 && LONG_BOXES >= SHUTTERS && starts.near_corner > 0.0f && random.uniform() < starts.near_corner;
}

__device__ void lay_out_field(const Store& store, const Rules& rules, const Starts& starts, Random& random) {
  Field field{rules.side, 1, {Block{{0, 0}, {GRID, GRID}}}};
  store.wall[env_id() * WALLS] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  store.door[env_id() * DOOR_ROWS] = make_float2(0.0f, 0.0f);
  store.room[env_id()] = make_float4(0.5f * rules.side, 0.5f * rules.side, 0.5f * rules.side, 0.5f * rules.side);
  while (field.num_rooms < ROOMS) divide(store, rules, random, field);
  Taken taken = 0u;
  const bool near_corner = begins_near_corner(starts, random);
  if (near_corner) put_shutters(store, field, starts.start_away[env_id()], taken);
  put_long_boxes(store, random, field, taken, 0, FIELD_CELLS, near_corner ? SHUTTERS : 0);
  put_ramps(store, random, field, taken, 0, FIELD_CELLS);
  for (int body = NUM_AGENTS; body < NUM_AGENTS + BOXES; ++body) put(store, random, field, taken, body, 0, FIELD_CELLS);
  const int first = near_corner ? (int)random.below(4u) : 0;
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    if (near_corner && is_hider(agent) && starts.hiders_start_inside)
      put_in_corner(store, random, agent, first);
    else
      put(store, random, field, taken, agent, 0, FIELD_CELLS);
  }
  const unsigned quarter = near_corner ? random.below(4u) : 0u;
  mirror(store, rules.side, quarter & 1u, quarter >> 1 & 1u);
}

__device__ void lay_out(const Store& store, const Rules& rules, const Starts& starts) {
  Random random = Random::env();
  for (int i = env_id() * BODIES; i < (env_id() + 1) * BODIES; ++i) store.level[i] = store.uphill[i] = 0;
  if (ROOMS == 1)
    lay_out_room(store, rules, starts, random);
  else
    lay_out_field(store, rules, starts, random);
}
