// Shortest ways through floor plans to places in them, as warpworld.eyes.plans.ways lays them out in world arrays: for each
// plan the same number of places, and for each place the way there from the middle of every cell of a grid over the plan.
#pragma once

#include "indoor.cuh"

constexpr float WAY_CELL = 0.2f;    // metres, the side of a cell; cell (row, column) begins at (column, row) * WAY_CELL
constexpr float WAY_CLEAR = 0.12f;  // metres from every wall, at least, of the middle of a cell that ways lead through
constexpr float WAY_UNIT = 0.002f;  // metres, of a number of a field
constexpr int NO_WAY = 65535;       // in a field: from here none leads there
constexpr float FAR_OFF = 1e6f;     // metres, where there is no way
// Metres from a place to the middle of a cell: within the first no wall can lie between, as both keep clear of walls;
// within the second there is a cell even in a corner.
constexpr float WAY_REACH = AGENT_RADIUS + WAY_CLEAR, WAY_CORNER = 0.32f;

// The arrays of ways: what kernels take by value.
struct Ways {
  const int4* plan_ways;             // of each plan: first number of its fields, columns, rows, its cells
  const float2* way_places;          // goal_places of each plan
  const unsigned short* way_fields;  // of each plan and place, row by row: WAY_UNITs to the place, or NO_WAY
  int goal_places;
};

WW_FUNCTION float2 middle_of_cell(int column, int row) {
  return make_float2(WAY_CELL * ((float)column + 0.5f), WAY_CELL * ((float)row + 0.5f));
}

// The least of `metres(cell) + distance` over the cells of a grid whose middles are within `reach` of a place.
template <class Metres>
WW_FUNCTION float least_around(float2 place, int columns, int rows, float reach, Metres metres) {
  using namespace plane;
  const int column = (int)(place.x / WAY_CELL), row = (int)(place.y / WAY_CELL);
  float least = FAR_OFF;
  for (int r = max(row - 2, 0); r <= min(row + 2, rows - 1); ++r)
    for (int c = max(column - 2, 0); c <= min(column + 2, columns - 1); ++c) {
      const float distance = length(middle_of_cell(c, r) - place);
      if (distance < reach) least = smaller(least, metres(r * columns + c) + distance);
    }
  return least;
}

// Metres of the shortest way from a place where an agent can be to one of its plan's places; FAR_OFF where there is none.
WW_FUNCTION float way_to_place(const Ways& ways, int plan, int goal, float2 from) {
  using namespace plane;
  const float straight = length(ways.way_places[plan * ways.goal_places + goal] - from);
  if (straight < 2.0f * AGENT_RADIUS) return straight;  // no wall has room in between
  const int4 grid = ways.plan_ways[plan];
  const unsigned short* field = ways.way_fields + grid.x + goal * grid.w;
  const auto metres = [&](int cell) { return field[cell] == NO_WAY ? FAR_OFF : WAY_UNIT * (float)field[cell]; };
  float way = least_around(from, grid.y, grid.z, WAY_REACH, metres);
  if (way >= FAR_OFF) way = least_around(from, grid.y, grid.z, WAY_CORNER, metres);
  return way < FAR_OFF ? larger(way, straight) : FAR_OFF;
}
