// References for walking to a goal, which know where they are and see nothing: straight on, and the shortest way. What they
// choose by is in Played, see script.cuh.
#pragma once

#include <script.cuh>
#include <ways.cuh>

constexpr int CHOICES = 7;
constexpr float NEARNESS = 3.0f;  // metres a second that are wanted for each metre to go
constexpr float FASTEST = 1.6f;   // metres a second that are wanted, so that corners can be taken
constexpr float STRAIGHT = 0.4f;  // metres from the goal within which the guide walks straight on
constexpr int AROUND = 2;         // cells to each side among which the guide looks for its own, and one for the next

// A body that is to be pushed.
struct Pushed {
  const float2 *positions, *velocity;
  const float* angles;
};

// The push that brings the velocity nearest to one towards a place.
__device__ int push_towards(const Pushed& body, float2 target, const Inertia& inertia) {
  using namespace plane;
  const int i = agent_index();
  const float2 wanted = NEARNESS * (target - body.positions[i]), ahead = direction_of(body.angles[i]);
  const float2 lacking = (FASTEST / larger(length(wanted), FASTEST)) * wanted - (1.0f - inertia.decay) * body.velocity[i];
  int best = 0;
  float least = INFINITY;
  for (int action = 0; action < CHOICES; ++action) {
    const Push by = push_of(action);
    const float2 pushed = (inertia.accel / inertia.fps) * (by.forward * ahead + by.left * left_of(ahead));
    const float missing = length(lacking - pushed);
    if (missing >= least) continue;
    least = missing;
    best = action;
  }
  return best;
}

// A cell of a plan's grid, and the metres that the way from it is long; infinite where none leads from it.
struct Cell {
  int column, row;
  float metres;
};

// The ways to one goal.
struct Field {
  const unsigned short* numbers;
  int columns, rows;

  __device__ float metres(int column, int row) const {
    if (column < 0 || row < 0 || column >= columns || row >= rows) return INFINITY;
    const int number = numbers[row * columns + column];
    return number == NO_WAY ? INFINITY : WAY_UNIT * (float)number;
  }

  // That of the cells around one from which the way is shortest; off(column, row): how far each is off.
  template <class Off>
  __device__ Cell best_around(int column, int row, int reach, Off off) const {
    Cell best = {column - reach, row - reach, INFINITY};
    for (int c = column - reach; c <= column + reach; ++c)
      for (int r = row - reach; r <= row + reach; ++r) {
        const float way = metres(c, r) + off(c, r);
        if (way < best.metres) best = Cell{c, r, way};
      }
    return best;
  }
};

// The next place on the shortest way: the goal where it is near, or where no way leads.
__device__ float2 next_place(const Field& field, float2 place, float2 goal) {
  using namespace plane;
  const auto off = [&](int column, int row) {
    const float distance = length(middle_of_cell(column, row) - place);
    return distance < WAY_CORNER ? distance : INFINITY;
  };
  const Cell own = field.best_around((int)(place.x / WAY_CELL), (int)(place.y / WAY_CELL), AROUND, off);
  if (length(goal - place) < STRAIGHT || own.metres == INFINITY) return goal;
  const Cell next = field.best_around(own.column, own.row, 1, [](int, int) { return 0.0f; });
  return middle_of_cell(next.column, next.row);
}
