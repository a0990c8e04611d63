// Floor plans that envs share by index, as warpworld.eyes.plans.PlanSet lays them out in world arrays: the walls of all plans
// one after the other, the texels of all walls, the light on all floors, the spawn cells of all rooms; and where each
// plan's, wall's and room's begin.
#pragma once

#include "physics.cuh"

// The arrays of a PlanSet: what kernels take by value to have all plans.
struct Plans {
  const float4* plan_walls;          // x0, y0, x1, y1 of each wall of all plans
  const int* plan_first_wall;        // of each plan, as the other firsts; after the last one's, their end
  const int* wall_first_texel;       // of each wall
  const unsigned* wall_texels;       // as in Surfaces
  const int4* plan_floor;            // of each plan: node (0, 0), columns, rows, nodes_per_metre, as in Floor
  const unsigned char* floor_light;  // of all nodes
  const int* plan_first_room;        // of each plan
  const int* room_first_cell;        // of each room
  const float2* plan_cells;          // the middle of each cell of all rooms
};

WW_FUNCTION Walls walls_of(const Plans& plans, int plan) {
  const int first = plans.plan_first_wall[plan];
  return Walls{plans.plan_walls + first, plans.plan_first_wall[plan + 1] - first};
}

// A plan's walls, as cameras see them.
struct Surfaces {
  Walls walls;
  const int* first_texel;  // of each wall; after the last one's, their end
  const unsigned* texels;  // of all plans: lit linear colours, red in bits 0 .. 10, green 11 .. 21, blue 22 .. 31
};

WW_FUNCTION Surfaces surfaces_of(const Plans& plans, int plan) {
  return Surfaces{walls_of(plans, plan), plans.wall_first_texel + plans.plan_first_wall[plan], plans.wall_texels};
}

// The texel at a place 0 .. 1 along a wall, counted from the first of all plans.
WW_FUNCTION int texel_at(const Surfaces& surfaces, int wall, float along) {
  const int first = surfaces.first_texel[wall], count = surfaces.first_texel[wall + 1] - first;
  const int texel = (int)(along * (float)count);
  return first + (texel < count ? texel : count - 1);
}

WW_FUNCTION float3 color_of(unsigned texel) {
  return make_float3((float)(texel & 2047u) * (1.0f / 2047.0f), (float)(texel >> 11 & 2047u) * (1.0f / 2047.0f),
                     (float)(texel >> 22) * (1.0f / 1023.0f));
}

// The light on a plan's floor, at the nodes of a grid: node (row, column) lies at (column, row) / nodes_per_metre.
struct Floor {
  const unsigned char* light;  // of node (0, 0), and behind it row by row; 255 is 1
  int columns, rows;           // at least 2 each
  int nodes_per_metre;
};

WW_FUNCTION Floor floor_of(const Plans& plans, int plan) {
  const int4 grid = plans.plan_floor[plan];
  return Floor{plans.floor_light + grid.x, grid.y, grid.z, grid.w};
}

// The light 0 .. 1 that falls on an agent at a place: bilinear between the four nodes around it.
WW_FUNCTION float brightness_at(const Floor& floor, float2 position) {
  using namespace plane;
  const float scale = (float)floor.nodes_per_metre;
  const float x = clamped(position.x * scale, 0.0f, (float)(floor.columns - 1));
  const float y = clamped(position.y * scale, 0.0f, (float)(floor.rows - 1));
  const int column = min((int)x, floor.columns - 2), row = min((int)y, floor.rows - 2);
  const unsigned char* const low = floor.light + row * floor.columns + column;
  const unsigned char* const high = low + floor.columns;
  const float right = x - (float)column, up = y - (float)row;
  const float below = (1.0f - right) * (float)low[0] + right * (float)low[1];
  const float above = (1.0f - right) * (float)high[0] + right * (float)high[1];
  return ((1.0f - up) * below + up * above) * (1.0f / 255.0f);
}

// A plan's rooms, and the cells of each in which an agent has room at any point.
struct Rooms {
  const int* first_cell;  // of each room; after the last one's, their end
  int count;
  const float2* cells;  // of all plans: the middle of each
};

WW_FUNCTION Rooms rooms_of(const Plans& plans, int plan) {
  const int first = plans.plan_first_room[plan];
  return Rooms{plans.room_first_cell + first, plans.plan_first_room[plan + 1] - first, plans.plan_cells};
}

constexpr float CELL = 0.2f;  // metres, the side of a spawn cell

// A random place in a plan's rooms; all cells are equally likely.
WW_FUNCTION float2 place_anywhere(const Rooms& rooms, Random& random) {
  const int first = rooms.first_cell[0], end = rooms.first_cell[rooms.count];
  const float2 middle = rooms.cells[first + (int)random.below((uint32_t)(end - first))];
  const float x = random.uniform(-0.5f, 0.5f), y = random.uniform(-0.5f, 0.5f);
  return make_float2(middle.x + CELL * x, middle.y + CELL * y);
}
