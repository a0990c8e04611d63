// Whether seekers can walk to hiders, as walls and boxes stand: exact for discs of one size among rectangles.
//
// An agent's middle keeps its radius from everything. So obstacles between which no agent fits, or between one and the edge,
// are joined, and the ways from one place to another are cut off if and only if joined obstacles make a ring that goes
// around one of the two: a closed chain of lines, from one obstacle's middle to the next, that crosses the line between
// the two places an odd number of times. A disjoint-set forest with parities finds whether there is one.
#pragma once

#include "hide_and_seek.cuh"

constexpr int OBSTACLES = 1 + WALLS + ALL_BOXES;  // the edge comes first

// Sets of joined obstacles: of each the next one on the way to its set's first, and whether that way crosses the line an
// odd number of times.
struct Rings {
  plane::Segment line;
  int parent[OBSTACLES];
  bool crosses[OBSTACLES];
  bool closed;  // a ring goes around one of the ends
};

__device__ bool is_crossed(const plane::Segment& line, float2 from, float2 to) {
  using namespace plane;
  const float2 way = line.b - line.a, step = to - from;
  const bool parts = (cross(way, from - line.a) > 0.0f) != (cross(way, to - line.a) > 0.0f);
  return parts && (cross(step, line.a - from) > 0.0f) != (cross(step, line.b - from) > 0.0f);
}

__device__ void join(Rings& rings, int a, int b, bool odd) {
  for (; rings.parent[a] != a; a = rings.parent[a]) odd ^= rings.crosses[a];
  for (; rings.parent[b] != b; b = rings.parent[b]) odd ^= rings.crosses[b];
  if (a == b) {
    rings.closed |= odd;
    return;
  }
  rings.parent[a] = b;
  rings.crosses[a] = odd;
}

// The middle of what lies between two intervals, or of what they share; `apart` is how far they are from each other.
__device__ float between(float a, float half_a, float b, float half_b, float& apart) {
  const float low = plane::larger(a - half_a, b - half_b), high = plane::smaller(a + half_a, b + half_b);
  apart = plane::larger(low - high, 0.0f);
  return 0.5f * (low + high);
}

__device__ void join_neighbours(Rings& rings, const plane::Rectangle* at, int i, int j, float width) {
  float2 apart, middle;
  middle.x = between(at[i].centre.x, at[i].half.x, at[j].centre.x, at[j].half.x, apart.x);
  middle.y = between(at[i].centre.y, at[i].half.y, at[j].centre.y, at[j].half.y, apart.y);
  if (!(plane::length(apart) < width)) return;
  join(rings, i, j, is_crossed(rings.line, at[i].centre, middle) != is_crossed(rings.line, middle, at[j].centre));
}

__device__ void join_edge(Rings& rings, const plane::Rectangle& at, int i, float side, float width) {
  const float2 c = at.centre, h = at.half;
  if (c.x - h.x < width) join(rings, i, 0, is_crossed(rings.line, c, make_float2(0.0f, c.y)));
  if (side - c.x - h.x < width) join(rings, i, 0, is_crossed(rings.line, c, make_float2(side, c.y)));
  if (c.y - h.y < width) join(rings, i, 0, is_crossed(rings.line, c, make_float2(c.x, 0.0f)));
  if (side - c.y - h.y < width) join(rings, i, 0, is_crossed(rings.line, c, make_float2(c.x, side)));
}

// What can be in the way: walls, and boxes, or only those that hiders have locked. Ramps are not, as agents get over them.
// Returns how many, with the edge, whose place is empty.
__device__ int find_obstacles(const Store& store, const Bodies& all, bool locked_alone, plane::Rectangle* at) {
  int count = 1;
  for (int w = 0; w < WALLS; ++w) {
    const plane::Rectangle wall = plane::rectangle(store.wall[env_id() * WALLS + w]);
    if (wall.half.x > 0.0f && wall.half.y > 0.0f) at[count++] = wall;
  }
  for (int box = NUM_AGENTS; box < FIRST_RAMP; ++box)
    if (!locked_alone || all.locked[box] == BY_HIDERS) at[count++] = plane::Rectangle{all.position[box], all.shape[box]};
  return count;
}

// Whether no agent of a width gets from one place to another one.
__device__ bool are_apart(const plane::Rectangle* at, int count, float2 from, float2 to, float side, float width) {
  Rings rings;
  rings.line = plane::Segment{from, to};
  rings.closed = false;
  for (int i = 0; i < count; ++i) {
    rings.parent[i] = i;
    rings.crosses[i] = false;
  }
  for (int i = 1; i < count; ++i) {
    join_edge(rings, at[i], i, side, width);
    for (int j = 1; j < i; ++j) join_neighbours(rings, at, i, j, width);
  }
  return rings.closed;
}

// How many hiders no seeker can walk to. An agent on level 1 gets everywhere.
__device__ int count_sheltered(const Store& store, const Bodies& all, float side, bool locked_alone) {
  plane::Rectangle at[OBSTACLES];
  const int count = find_obstacles(store, all, locked_alone, at);
  const float width = 2.0f * all.shape[0].x;
  int sheltered = 0;
  for (int hider = 0; hider < HIDER_COUNT; ++hider) {
    bool apart = !bodies::is_raised(all, hider);
    for (int seeker = SEEKER_FIRST; apart && seeker < NUM_AGENTS; ++seeker)
      apart = !bodies::is_raised(all, seeker) &&
              are_apart(at, count, all.position[hider], all.position[seeker], side, width);
    sheltered += apart;
  }
  return sheltered;
}
