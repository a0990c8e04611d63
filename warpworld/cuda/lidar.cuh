// Distances along rays from a body of bodies.cuh to the nearest of the arena's edge, walls, boxes and discs, exact for each.
//
//   const Echo echo = cast(bodies, arena, self, direction);   // of length 1
//
//   cast_all(bodies, arena, self, directions, count, looks_over, on_echo);   // many at once, with the same results
//
// For cameras, put_sides() in geometry.cuh makes four line walls of a box, see raycast.cuh.
#pragma once

#include "bodies.cuh"

struct Echo {
  float distance;  // metres from the middle of the body that looks
  int object;      // a body, or bodies::EDGE for a wall and the edge
};

namespace bodies {

// How far a ray goes until it enters a rectangle; INFINITY if it does not. From inside it is 0.
WW_FUNCTION float way_into(const Rectangle& at, float2 from, float2 direction) {
  const float2 low = at.centre - at.half, high = at.centre + at.half;
  float first = 0.0f, last = INFINITY;
  cut_slab(from.x, direction.x, low.x, high.x, first, last);
  cut_slab(from.y, direction.y, low.y, high.y, first, last);
  return first <= last ? first : INFINITY;
}

// The same of a disc.
WW_FUNCTION float way_into(float2 middle, float radius, float2 from, float2 direction) {
  const float2 offset = middle - from;
  const float ahead = dot(offset, direction), aside = cross(offset, direction);  // exact for long ways, unlike a discriminant
  if (dot(offset, offset) <= radius * radius) return 0.0f;
  if (!(ahead > 0.0f) || !(fabsf(aside) < radius)) return INFINITY;
  return larger(ahead - sqrtf(radius * radius - aside * aside), 0.0f);
}

// From inside of the arena to its edge.
WW_FUNCTION float way_out(const Arena& arena, float2 from, float2 direction) {
  const float x = direction.x > 0.0f ? arena.high.x - from.x : arena.low.x - from.x;
  const float y = direction.y > 0.0f ? arena.high.y - from.y : arena.low.y - from.y;
  return smaller(direction.x == 0.0f ? INFINITY : x / direction.x, direction.y == 0.0f ? INFINITY : y / direction.y);
}

WW_FUNCTION void hear(Echo& nearest, float distance, int object) {
  if (distance < nearest.distance) nearest = Echo{distance, object};
}

// ---- several rays at once --------------------------------------------------------------------------------------------
// Rays that are taken at once: on a CPU one in each lane of its vectors; on a GPU more would spill registers.
#if defined(__CUDACC__)
constexpr int TOGETHER = 1;
#else
constexpr int TOGETHER = 8;
#endif

// cut_slab() without a branch.
WW_FUNCTION void cut_slab_of_ray(float from, float way, float near, float far, float& first, float& last) {
  const bool still = way == 0.0f, outside = from < near || from > far;
  const float one = (near - from) / way, two = (far - from) / way;
  first = still ? first : larger(first, smaller(one, two));
  last = still ? (outside ? -1.0f : last) : smaller(last, larger(one, two));
}

struct Rays {
  float x[TOGETHER], y[TOGETHER], nearest[TOGETHER];
  int object[TOGETHER];
};

WW_FUNCTION void meet_rectangle(Rays& rays, float2 from, const Rectangle& at, int object) {
  const float2 low = at.centre - at.half, high = at.centre + at.half;
  for (int i = 0; i < TOGETHER; ++i) {
    float first = 0.0f, last = INFINITY;
    cut_slab_of_ray(from.x, rays.x[i], low.x, high.x, first, last);
    cut_slab_of_ray(from.y, rays.y[i], low.y, high.y, first, last);
    const bool nearer = (first <= last) & (first < rays.nearest[i]);
    rays.nearest[i] = nearer ? first : rays.nearest[i];
    rays.object[i] = nearer ? object : rays.object[i];
  }
}

WW_FUNCTION void meet_disc(Rays& rays, float2 from, float2 middle, float radius, int object) {
  const float2 offset = middle - from;
  const bool inside = dot(offset, offset) <= radius * radius;
  for (int i = 0; i < TOGETHER; ++i) {  // as way_into(), without a branch
    const float2 direction = make_float2(rays.x[i], rays.y[i]);
    const float ahead = dot(offset, direction), aside = cross(offset, direction);
    const bool meets = (ahead > 0.0f) & (fabsf(aside) < radius);
    const float half = sqrtf(larger(radius * radius - aside * aside, 0.0f));
    const float way = inside ? 0.0f : meets ? larger(ahead - half, 0.0f) : INFINITY;
    const bool nearer = way < rays.nearest[i];
    rays.nearest[i] = nearer ? way : rays.nearest[i];
    rays.object[i] = nearer ? object : rays.object[i];
  }
}

}  // namespace bodies

// What a ray from the middle of a body meets first; of things as near as each other the first of the edge, walls and bodies.
// looks_over(rectangle): whether the body sees over a wall or a box, as one on level 1 may.
template <class LooksOver>
WW_FUNCTION Echo cast(const Bodies& all, const Arena& arena, int self, float2 direction, LooksOver looks_over) {
  using namespace bodies;
  const float2 from = all.position[self];
  Echo nearest{way_out(arena, from, direction), EDGE};
  for (int wall = 0; wall < arena.num_walls; ++wall) {
    const Rectangle at = rectangle(arena.walls[wall]);
    if (!looks_over(at)) hear(nearest, way_into(at, from, direction), EDGE);
  }
  for (int other = 0; other < all.count; ++other) {
    if (other == self) continue;
    const float2 shape = all.shape[other], middle = all.position[other];
    const Rectangle box{middle, shape};
    if (is_disc(shape))
      hear(nearest, way_into(middle, shape.x, from, direction), other);
    else if (!looks_over(box))
      hear(nearest, way_into(box, from, direction), other);
  }
  return nearest;
}

WW_FUNCTION Echo cast(const Bodies& all, const Arena& arena, int self, float2 direction) {
  return cast(all, arena, self, direction, [](const plane::Rectangle&) { return false; });
}

// The same for many rays: calls on_echo(number, echo) for each.
template <class LooksOver, class OnEcho>
WW_FUNCTION void cast_all(const Bodies& all, const Arena& arena, int self, const float2* directions, int count,
                          LooksOver looks_over, OnEcho on_echo) {
  using namespace bodies;
  const float2 from = all.position[self];
#pragma unroll 1  // as a GPU has few registers; here and below
  for (int begin = 0; begin < count; begin += TOGETHER) {
    Rays rays;
    for (int i = 0; i < TOGETHER; ++i) {
      const float2 direction = directions[begin + i < count ? begin + i : count - 1];
      rays.x[i] = direction.x;
      rays.y[i] = direction.y;
      rays.nearest[i] = way_out(arena, from, direction);
      rays.object[i] = EDGE;
    }
#pragma unroll 1
    for (int wall = 0; wall < arena.num_walls; ++wall) {
      const Rectangle at = rectangle(arena.walls[wall]);
      if (!looks_over(at)) meet_rectangle(rays, from, at, EDGE);
    }
#pragma unroll 1
    for (int other = 0; other < all.count; ++other) {
      const Rectangle at{all.position[other], all.shape[other]};
      if (other == self) continue;
      if (is_disc(at.half))
        meet_disc(rays, from, at.centre, at.half.x, other);
      else if (!looks_over(at))
        meet_rectangle(rays, from, at, other);
    }
    for (int i = 0; i < TOGETHER && begin + i < count; ++i) on_echo(begin + i, Echo{rays.nearest[i], rays.object[i]});
  }
}
