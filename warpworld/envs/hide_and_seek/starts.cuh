// Places in which bodies of hide and seek start: cells of which each body takes one, and a long box two, so that none overlap.
//
// Where the cells are, a struct says: at(cell), and next_to(cell, axis), the next cell along an axis with nothing in
// between, or NOTHING.
#pragma once

#include "hide_and_seek.cuh"

constexpr float MARGIN = 0.01f;  // metres that bodies keep from their cell's edge

using Taken = unsigned long long;  // a bit for each cell

struct Cell {
  float2 middle, size;
};

__device__ bool is_taken(Taken taken, int cell) { return taken >> cell & 1u; }

// A cell of first .. first + count - 1 that is not taken, and is then.
__device__ int take(Random& random, Taken& taken, int first, int count) {
  int left = 0;
  for (int cell = first; cell < first + count; ++cell) left += !is_taken(taken, cell);
  int skipped = (int)random.below((unsigned)left), found = first;
  for (int cell = first + count - 1; cell >= first; --cell) {
    if (is_taken(taken, cell)) continue;
    if (skipped-- == 0) found = cell;
  }
  taken |= (Taken)1 << found;
  return found;
}

// A place for a body somewhere in a cell.
__device__ float2 somewhere_in(Random& random, const Cell& cell, float2 shape) {
  const float half_y = bodies::is_disc(shape) ? shape.x : shape.y;
  const float x = plane::larger(0.5f * cell.size.x - shape.x - MARGIN, 0.0f);
  const float y = plane::larger(0.5f * cell.size.y - half_y - MARGIN, 0.0f);
  const float off_x = random.uniform(-x, x), off_y = random.uniform(-y, y);
  return make_float2(cell.middle.x + off_x, cell.middle.y + off_y);
}

// Two cells next to each other along an axis, as one.
__device__ Cell joined(const Cell& one, const Cell& other, int axis) {
  using namespace plane;
  const float2 size = 0.5f * (one.size + other.size), apart = other.middle - one.middle;
  const float2 wide = axis ? make_float2(size.x, size.y + apart.y) : make_float2(size.x + apart.x, size.y);
  return Cell{0.5f * (one.middle + other.middle), wide};
}

// Puts all long boxes but the first `skipped_boxes` in two cells each of first .. first + count - 1, and takes these. There
// have to be enough, see hide_and_seek.py.
template <class Cells>
__device__ void put_long_boxes(const Store& store, Random& random, const Cells& cells, Taken& taken, int first, int count,
                               int skipped_boxes = 0) {
  const auto is_free = [&](int cell, int axis) {
    const int next = cells.next_to(cell, axis);
    return next != NOTHING && !is_taken(taken, cell) && !is_taken(taken, next);
  };
  for (int body = NUM_AGENTS + BOXES + skipped_boxes; body < FIRST_RAMP; ++body) {
    const int axis = store.shape[body].x > store.shape[body].y ? 0 : 1;
    int left = 0, found = first;
    for (int cell = first; cell < first + count; ++cell) left += is_free(cell, axis);
    int skipped = (int)random.below((unsigned)left);
    for (int cell = first + count - 1; cell >= first; --cell)
      if (is_free(cell, axis) && skipped-- == 0) found = cell;
    const int next = cells.next_to(found, axis);
    taken |= (Taken)1 << found | (Taken)1 << next;
    const Cell both = joined(cells.at(found), cells.at(next), axis);
    store.position[env_id() * BODIES + body] = somewhere_in(random, both, store.shape[body]);
  }
}

// Puts a body in a cell of first .. first + count - 1.
template <class Cells>
__device__ void put(const Store& store, Random& random, const Cells& cells, Taken& taken, int body, int first, int count) {
  const int cell = take(random, taken, first, count);
  store.position[env_id() * BODIES + body] = somewhere_in(random, cells.at(cell), store.shape[body]);
}

// Puts ramps in cells of first .. first + count - 1; each leads up along one of the four directions.
template <class Cells>
__device__ void put_ramps(const Store& store, Random& random, const Cells& cells, Taken& taken, int first, int count) {
  for (int body = FIRST_RAMP; body < BODIES; ++body) {
    put(store, random, cells, taken, body, first, count);
    store.uphill[env_id() * BODIES + body] = 1 + (int)random.below(4u);
  }
}
