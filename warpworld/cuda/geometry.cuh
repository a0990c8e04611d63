// Vectors of the plane, as float2, segments and rectangles; in a namespace, so that they do not clash with an author's own
// operators.
#pragma once

#include "warpworld.cuh"

// Line walls of an env.
struct Walls {
  const float4* ends;  // x0, y0, x1, y1 of each
  int count;
};

namespace plane {

WW_FUNCTION float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
WW_FUNCTION float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
WW_FUNCTION float2 operator*(float s, float2 a) { return make_float2(s * a.x, s * a.y); }
WW_FUNCTION float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
WW_FUNCTION float cross(float2 a, float2 b) { return a.x * b.y - a.y * b.x; }
WW_FUNCTION float length(float2 a) { return sqrtf(dot(a, a)); }
// A quarter turn to the left.
WW_FUNCTION float2 left_of(float2 a) { return make_float2(-a.y, a.x); }

// As one instruction each, which fminf() and fmaxf() are not on a CPU: those check for NaN.
WW_FUNCTION float smaller(float a, float b) { return a < b ? a : b; }
WW_FUNCTION float larger(float a, float b) { return a > b ? a : b; }
WW_FUNCTION float clamped(float x, float low, float high) { return smaller(larger(x, low), high); }

struct Segment {
  float2 a, b;
};
WW_FUNCTION Segment segment(float4 ends) { return Segment{make_float2(ends.x, ends.y), make_float2(ends.z, ends.w)}; }

// The point of a segment that is nearest to `p`.
WW_FUNCTION float2 nearest_point(const Segment& wall, float2 p) {
  const float2 along = wall.b - wall.a;
  const float t = dot(p - wall.a, along) / dot(along, along);
  return wall.a + clamped(t, 0.0f, 1.0f) * along;
}

WW_FUNCTION bool on_one_side(float a, float b) { return (a > 0.0f && b > 0.0f) || (a < 0.0f && b < 0.0f); }

// Whether two segments touch. Neighbouring walls share a corner, whose side of the line is the same number for both:
// no line slips through between them.
WW_FUNCTION bool touch(const Segment& wall, const Segment& line) {
  const float2 along = wall.b - wall.a, way = line.b - line.a;
  if (on_one_side(cross(way, wall.a - line.a), cross(way, wall.b - line.a))) return false;
  return !on_one_side(cross(along, line.a - wall.a), cross(along, line.b - wall.a));
}

// Whether a wall touches the box between two corners, with sides along the axes.
WW_FUNCTION bool is_near(float4 ends, float2 low, float2 high) {
  return smaller(ends.x, ends.z) <= high.x && larger(ends.x, ends.z) >= low.x && smaller(ends.y, ends.w) <= high.y &&
         larger(ends.y, ends.w) >= low.y;
}

// Whether any wall touches a line.
WW_FUNCTION bool is_blocked(const Walls& walls, const Segment& line) {
  const float2 low = make_float2(smaller(line.a.x, line.b.x), smaller(line.a.y, line.b.y));
  const float2 high = make_float2(larger(line.a.x, line.b.x), larger(line.a.y, line.b.y));
  for (int i = 0; i < walls.count; ++i)
    if (is_near(walls.ends[i], low, high) && touch(segment(walls.ends[i]), line)) return true;
  return false;
}

// With sides along the axes.
struct Rectangle {
  float2 centre, half;  // half its width and height
};
WW_FUNCTION Rectangle rectangle(float4 at) { return Rectangle{make_float2(at.x, at.y), make_float2(at.z, at.w)}; }

// Its sides as four line walls, counterclockwise: what cameras see of a box.
WW_FUNCTION void put_sides(const Rectangle& box, float4* ends) {
  const float2 low = box.centre - box.half, high = box.centre + box.half;
  ends[0] = make_float4(low.x, low.y, high.x, low.y);
  ends[1] = make_float4(high.x, low.y, high.x, high.y);
  ends[2] = make_float4(high.x, high.y, low.x, high.y);
  ends[3] = make_float4(low.x, high.y, low.x, low.y);
}

// What an axis leaves of the part first .. last of a segment: that between `near` and `far`, from its first end `from`,
// which goes `way` along the axis.
WW_FUNCTION void cut_slab(float from, float way, float near, float far, float& first, float& last) {
  if (way == 0.0f) {  // along the other axis: all of it or nothing
    if (from < near || from > far) last = -1.0f;
    return;
  }
  const float one = (near - from) / way, two = (far - from) / way;
  first = larger(first, smaller(one, two));
  last = smaller(last, larger(one, two));
}

// Whether a segment goes through the inside of a rectangle (slabs, Kay and Kajiya 1986).
WW_FUNCTION bool cuts(const Rectangle& across, const Segment& line) {
  const float2 low = across.centre - across.half, high = across.centre + across.half, way = line.b - line.a;
  float first = 0.0f, last = 1.0f;
  cut_slab(line.a.x, way.x, low.x, high.x, first, last);
  cut_slab(line.a.y, way.y, low.y, high.y, first, last);
  return first < last;
}

}  // namespace plane
