// A warehouse: robots and shelves on a grid, whose margin is as wide as robots can see, and what robots see of it.
#pragma once

#include <warpworld.cuh>

constexpr int STRIDE = WIDTH + 2 * SENSOR_RANGE, CELLS = (HEIGHT + 2 * SENSOR_RANGE) * STRIDE;
constexpr int SENSORS = 2 * SENSOR_RANGE + 1, FEATURES = 7;  // of a sensed cell: a robot, its direction, a shelf, wanted
constexpr int NOBODY = 2;  // the features of an empty cell: no robot, which heads up
enum Direction { UP, DOWN, LEFT, RIGHT };
enum Ground { OUTSIDE, STORAGE, CORRIDOR };

// Robots and shelves are counted from 1 on the grid, where 0 is none.
struct Warehouse {
  const unsigned char* ground;
  const short* goals;
  const short* shelf_home;
  unsigned char* agent_at;
  short* shelf_at;
  unsigned char* looks;
  short* shelf_cell;
  bool* requested;
  int* cell;
  int* direction;
  int* carrying;
  bool* has_delivered;
};

// One env's part of it.
__device__ Warehouse here(const Warehouse& all) {
  const size_t env = (size_t)env_id(), grid = env * CELLS, shelf = env * NUM_SHELVES, agent = env * NUM_AGENTS;
  return Warehouse{all.ground,           all.goals,           all.shelf_home,         all.agent_at + grid,
                   all.shelf_at + grid,  all.looks + grid,    all.shelf_cell + shelf, all.requested + shelf,
                   all.cell + agent,     all.direction + agent, all.carrying + agent, all.has_delivered + agent};
}

__device__ int x_of(int cell) { return cell % STRIDE - SENSOR_RANGE; }
__device__ int y_of(int cell) { return cell / STRIDE - SENSOR_RANGE; }

// Renews what robots see of a cell, a bit for each feature.
__device__ void show(const Warehouse& warehouse, int cell) {
  const int agent = warehouse.agent_at[cell], shelf = warehouse.shelf_at[cell];
  int features = agent > 0 ? 1 | 2 << warehouse.direction[agent - 1] : NOBODY;
  if (shelf > 0) features |= warehouse.requested[shelf - 1] ? 96 : 32;
  warehouse.looks[cell] = (unsigned char)features;
}

// Writes what a robot sees: its own state, then the features of the cells around it, row by row.
__device__ void observe(const Warehouse& warehouse, int agent, bool normalised_coordinates, float* observations) {
  const int cell = warehouse.cell[agent], direction = warehouse.direction[agent];
  float* seen = observations + (size_t)(env_id() * NUM_AGENTS + agent) * OBSERVATION_SIZE;
  seen[0] = (float)x_of(cell);
  seen[1] = (float)y_of(cell);
  if (normalised_coordinates) {
    seen[0] /= (float)(WIDTH - 1);
    seen[1] /= (float)(HEIGHT - 1);
  }
  seen[2] = warehouse.carrying[agent] > 0 ? 1.0f : 0.0f;
  for (int k = 0; k < 4; ++k) seen[3 + k] = direction == k ? 1.0f : 0.0f;
  seen[7] = warehouse.ground[cell] == CORRIDOR ? 1.0f : 0.0f;
  const unsigned char* corner = warehouse.looks + cell - SENSOR_RANGE * (STRIDE + 1);
  float* to = seen + 8;
  for (int y = 0; y < SENSORS; ++y)
    for (int x = 0; x < SENSORS; ++x, to += FEATURES)
      for (int k = 0; k < FEATURES; ++k) to[k] = (float)(corner[y * STRIDE + x] >> k & 1);
}

// Asks for one of the shelves that are not asked for, of which there are `left`. Returns its number.
__device__ int request(const Warehouse& warehouse, int left, Random& random) {
  int skipped = (int)random.below((unsigned)left), shelf = 0;
  for (; warehouse.requested[shelf] || skipped > 0; ++shelf) skipped -= !warehouse.requested[shelf];
  warehouse.requested[shelf] = true;
  return shelf;
}
