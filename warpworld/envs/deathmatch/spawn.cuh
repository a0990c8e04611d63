// Where agents wake up: anywhere in a home or in one of its rooms, and away from each other.
#pragma once

#include <indoor.cuh>

constexpr int SPAWN_TRIES = 32;                     // places drawn, of which the first is taken that is
constexpr float SPAWN_APART = 6.0f * AGENT_RADIUS;  // metres away from all others, or else the farthest
constexpr float SPAWN_LEAST = 2.1f * AGENT_RADIUS;  // less would overlap: a room without more has no room

WW_FUNCTION Rooms room_alone(const Rooms& rooms, int room) { return Rooms{rooms.first_cell + room, 1, rooms.cells}; }

// The room that has a cell of the plan.
WW_FUNCTION Rooms room_with(const Rooms& rooms, int cell) {
  int room = 0;
  while (rooms.first_cell[room + 1] <= cell) ++room;
  return room_alone(rooms, room);
}

// A random room, each cell as likely as another.
WW_FUNCTION Rooms any_room(const Rooms& rooms, Random& random) {
  const int first = rooms.first_cell[0], count = rooms.first_cell[rooms.count] - first;
  return room_with(rooms, first + (int)random.below((uint32_t)count));
}

// The room of a place: that of the nearest cell, as there are places beside walls and in doors that no cell has.
WW_FUNCTION Rooms room_at(const Rooms& rooms, float2 place) {
  using namespace plane;
  int nearest = rooms.first_cell[0];
  float least = INFINITY;
  for (int cell = nearest; cell < rooms.first_cell[rooms.count]; ++cell) {
    const float2 offset = rooms.cells[cell] - place;
    if (dot(offset, offset) >= least) continue;
    least = dot(offset, offset);
    nearest = cell;
  }
  return room_with(rooms, nearest);
}

// Gives agent `who` a place in `rooms`, away from those who stand somewhere; in `home` where `rooms` are too full.
WW_FUNCTION void put_apart(const Rooms& rooms, const Rooms& home, int who, float2* positions, bool* stands,
                           Random& random) {
  using namespace plane;
  float2 chosen = make_float2(0.0f, 0.0f);
  float most = -1.0f;  // metres from the nearest of the others
  for (int attempt = 0; attempt < 2 * SPAWN_TRIES; ++attempt) {
    if (most >= (attempt < SPAWN_TRIES ? SPAWN_APART : SPAWN_LEAST)) break;
    const float2 place = place_anywhere(attempt < SPAWN_TRIES ? rooms : home, random);
    float nearest = INFINITY;
    for (int other = 0; other < NUM_AGENTS; ++other)
      if (stands[other]) nearest = smaller(nearest, length(positions[other] - place));
    if (!(nearest > most)) continue;
    most = nearest;
    chosen = place;
  }
  positions[who] = chosen;
  stands[who] = true;
}
