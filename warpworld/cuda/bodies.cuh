// Discs and boxes of many sizes that move among walls and push each other. Boxes have sides along the axes and do not turn;
// bodies need not be agents.
//
//   const Bodies bodies{position, velocity, shape, mass, held, locked, count};   // of one env
//   drive(bodies, i, force, drag, seconds);                                      // each body
//   move_bodies_once(bodies, arena, motion, turn);                               // all of them, for a part of a step
//
// joints.cuh has move_bodies(), which takes all parts of a step and lets bodies hold and lock each other.
//
// One lane moves all bodies of its env: `if (!is_active() || lane() != 0) return;`. So nothing depends on the number of
// workers or on the backend: bits are equal. With threads_per_env=(1, number of agents) small envs share warps on a GPU.
//
// How: a step has `substeps` parts. In each, bodies take turns, and each goes along one axis and then along the other to
// its exact first contact, less SKIN: a body is never put where it overlaps another, so that nothing tunnels or has to be
// pushed out. Who comes first changes with the step. All contacts have one closed form: seen from a body's middle, another
// one is a rectangle with round corners, their half sizes added and their radii added.
//
// A contact exchanges an impulse along its normal: what a body loses another one gains, up to rounding, and kinetic energy
// does not grow. A push passes on from body to body, one contact of each body and axis in a part of a step, so that a chain
// is as slow as its masses and drags make it. Discs slide around corners and each other by what is left across the normal.
//
// Levels: the first bodies, `climbers`, may climb ramps. A climber is on level 0, where everything stops it, or on level 1,
// above walls, boxes and ramps: there only other climbers and the arena's edge stop it, and no box meets it. A climber that
// holds nothing gets on level 1 where it meets the low side of a ramp with its middle within the ramp's width. It gets back
// on level 0 once it is further than SKIN from all walls and all bodies that are no climbers. So on level 0 nothing ever
// overlaps, and on level 1 a climber overlaps what it is above. Climbing takes no time and no energy.
#pragma once

#include "geometry.cuh"

// Of one env.
struct Bodies {
  float2 *position, *velocity;  // metres, metres per second
  const float2* shape;          // metres: half a box's width and height, or a disc's radius and 0
  const float* mass;            // kilograms; INFINITY for one that nothing moves
  int* held;                    // the body that each one holds, -1 for none
  int* locked;                  // the team that locked it, from 1 on, or 0; a locked body has infinite mass
  int count;
  // Of climbers alone, which come first; without ramps all three are left out.
  int climbers = 0;
  int* level = nullptr;         // of each climber: 0, or 1 above walls, boxes and ramps
  const int* uphill = nullptr;  // of each body: where a ramp leads up, see uphill_along(); 0 for what is no ramp
};

// Where they move: a rectangle with walls in it.
struct Arena {
  float2 low, high;     // its corners, metres; coordinates below some 100, or rounding is larger than the skin
  const float4* walls;  // the middle and half the size of each; a wall of size 0 is left out
  int num_walls;
};

struct Motion {
  float seconds;      // of a step
  int substeps;       // at least 1
  float restitution;  // 0 (bodies stay together) .. 1 (no energy is lost)
};

namespace bodies {
using namespace plane;

constexpr float SKIN = 1e-4f;           // metres between bodies that have met
constexpr float GRAZE = 0.25f * SKIN;   // nearer than this they do not pass each other
constexpr int EDGE = -1;                // instead of the other body: a wall, or the arena's edge

WW_FUNCTION float along(float2 v, int axis) { return axis ? v.y : v.x; }
WW_FUNCTION float& along(float2* v, int axis) { return axis ? v->y : v->x; }

// A body as seen from another one's middle.
struct Rounded {
  float2 half;
  float radius;
};
WW_FUNCTION bool is_disc(float2 shape) { return shape.y == 0.0f; }
WW_FUNCTION Rounded rounded(float2 shape) {
  return is_disc(shape) ? Rounded{make_float2(0.0f, 0.0f), shape.x} : Rounded{shape, 0.0f};
}
WW_FUNCTION Rounded together(const Rounded& a, const Rounded& b) { return Rounded{a.half + b.half, a.radius + b.radius}; }

// From the nearest point of the rectangle without its round corners; 0 along an axis on which they overlap.
WW_FUNCTION float2 offset_from(const Rounded& shape, float2 offset) {
  const float x = larger(fabsf(offset.x) - shape.half.x, 0.0f), y = larger(fabsf(offset.y) - shape.half.y, 0.0f);
  return make_float2(copysignf(x, offset.x), copysignf(y, offset.y));
}

// Metres between a shape and a point at an offset from its middle, below 0 inside of round corners.
WW_FUNCTION float gap_to(const Rounded& shape, float2 offset) { return length(offset_from(shape, offset)) - shape.radius; }

// How far a point goes along an axis until it meets a shape whose middle is `ahead` of it and `aside`; INFINITY if never.
WW_FUNCTION float way_to(const Rounded& shape, int axis, float ahead, float aside) {
  const float radius = shape.radius + GRAZE, beyond = aside - along(shape.half, 1 - axis);
  if (!(ahead > 0.0f) || !(beyond < radius)) return INFINITY;
  const float round = beyond > 0.0f ? sqrtf(radius * radius - beyond * beyond) : radius;
  return larger(ahead - along(shape.half, axis) - round - (SKIN - GRAZE), 0.0f);
}

// ---- levels ----------------------------------------------------------------------------------------------------------
// Of a ramp that leads up along an axis: 1 to the left, 2 to the right, 3 down and 4 up.
WW_FUNCTION int uphill_along(int axis, float sign) { return 1 + 2 * axis + (sign > 0.0f); }

WW_FUNCTION bool is_raised(const Bodies& all, int body) {
  return all.level != nullptr && body < all.climbers && all.level[body] != 0;
}

// Whether one of them is above the other.
WW_FUNCTION bool pass_each_other(const Bodies& all, int a, int b) {
  return a < all.climbers ? b >= all.climbers && is_raised(all, a) : is_raised(all, b);
}

// ---- contacts --------------------------------------------------------------------------------------------------------
struct Contact {
  float way;  // metres along the axis
  int other;  // a body, or EDGE
  Rounded shape;
  float2 middle;  // of the other one
};

WW_FUNCTION float inverse_mass(const Bodies& all, int body) { return all.locked[body] ? 0.0f : 1.0f / all.mass[body]; }

WW_FUNCTION void meet(Contact& first, const Rounded& shape, float2 middle, int other, float2 from, int axis, float sign) {
  const float ahead = sign * (along(middle, axis) - along(from, axis));
  const float way = way_to(shape, axis, ahead, fabsf(along(middle, 1 - axis) - along(from, 1 - axis)));
  if (way < first.way) first = Contact{way, other, shape, middle};
}

// A disc's width and height are halves of a box around it.
WW_FUNCTION float2 around(float2 shape) { return make_float2(shape.x, is_disc(shape) ? shape.x : shape.y); }

// Whether anything lies in the rectangle that a body passes through on its way along an axis, and a little beyond. Most ways
// are free, and this is found without square roots and, on a CPU, for several bodies at once.
WW_FUNCTION bool may_meet(const Bodies& all, const Arena& arena, int self, int axis, float sign, float wanted) {
  const float ahead = 0.5f * (wanted + SKIN + GRAZE), beside = 2.0f * GRAZE;
  const float2 way = axis ? make_float2(0.0f, sign * ahead) : make_float2(sign * ahead, 0.0f);
  const float2 wider = axis ? make_float2(beside, ahead) : make_float2(ahead, beside);
  const float2 middle = all.position[self] + way, half = around(all.shape[self]) + wider;
  int near = -1;  // as the body itself is
  for (int other = 0; other < all.count; ++other) {
    const float2 off = all.position[other] - middle, reach = half + around(all.shape[other]);
    near += (fabsf(off.x) < reach.x) & (fabsf(off.y) < reach.y);
  }
  for (int wall = 0; wall < arena.num_walls; ++wall) {
    const float4 at = arena.walls[wall];
    near += (fabsf(at.x - middle.x) < half.x + at.z) & (fabsf(at.y - middle.y) < half.y + at.w);
  }
  return near > 0;
}

// The first contact of a body that goes along an axis; what is beyond `wanted` metres may be left out.
WW_FUNCTION Contact first_contact(const Bodies& all, const Arena& arena, int self, int axis, float sign, float wanted) {
  const float2 from = all.position[self];
  const Rounded own = rounded(all.shape[self]);
  const float room = sign > 0.0f ? along(arena.high, axis) - along(from, axis) : along(from, axis) - along(arena.low, axis);
  Contact first{larger(room - along(own.half, axis) - own.radius - SKIN, 0.0f), EDGE, own, from};
  if (!may_meet(all, arena, self, axis, sign, wanted)) return first;
#pragma unroll 1  // as a GPU has few registers; here and below
  for (int wall = is_raised(all, self) ? arena.num_walls : 0; wall < arena.num_walls; ++wall) {
    const Rectangle at = rectangle(arena.walls[wall]);
    if (!(at.half.x > 0.0f && at.half.y > 0.0f)) continue;
    meet(first, together(own, Rounded{at.half, 0.0f}), at.centre, EDGE, from, axis, sign);
  }
#pragma unroll 1
  for (int other = 0; other < all.count; ++other)
    if (other != self && !pass_each_other(all, self, other))
      meet(first, together(own, rounded(all.shape[other])), all.position[other], other, from, axis, sign);
  return first;
}

// Of length 1, to the other one. Boxes and faces meet along the axis; only round corners do not.
WW_FUNCTION float2 normal_of(const Contact& contact, float2 from, int axis, float sign) {
  const float2 to = offset_from(contact.shape, contact.middle - from);
  if (contact.shape.radius > 0.0f && to.x != 0.0f && to.y != 0.0f) return (1.0f / length(to)) * to;
  return axis ? make_float2(0.0f, sign) : make_float2(sign, 0.0f);
}

// Takes away what two bodies approach each other by, or more with a restitution.
WW_FUNCTION void exchange(const Bodies& all, int self, int other, float2 normal, float restitution) {
  const float2 still = make_float2(0.0f, 0.0f);
  const float own = inverse_mass(all, self), its = other == EDGE ? 0.0f : inverse_mass(all, other);
  const float into = dot(all.velocity[self] - (other == EDGE ? still : all.velocity[other]), normal);
  if (!(into > 0.0f) || !(own + its > 0.0f)) return;
  const float impulse = (1.0f + restitution) * into / (own + its);  // newton seconds
  all.velocity[self] = all.velocity[self] - (impulse * own) * normal;
  if (other != EDGE) all.velocity[other] = all.velocity[other] + (impulse * its) * normal;
}

// Whether a climber that meets something gets on level 1 instead: by the low side of a ramp.
WW_FUNCTION bool climbs(const Bodies& all, int self, const Contact& first, int axis, float sign) {
  if (all.level == nullptr || self >= all.climbers || first.other == EDGE || all.held[self] >= 0) return false;
  const float aside = along(first.middle, 1 - axis) - along(all.position[self], 1 - axis);
  return all.uphill[first.other] == uphill_along(axis, sign) && fabsf(aside) < along(first.shape.half, 1 - axis);
}

// Moves a body along an axis for some time, or to its first contact.
WW_FUNCTION void advance(const Bodies& all, const Arena& arena, int self, int axis, float seconds, float restitution) {
  const float speed = along(all.velocity[self], axis), sign = speed < 0.0f ? -1.0f : 1.0f;
  const float wanted = fabsf(speed) * seconds;
  if (!(wanted > 0.0f) || !(inverse_mass(all, self) > 0.0f)) return;
  Contact first = first_contact(all, arena, self, axis, sign, wanted);
  if (first.way < wanted && climbs(all, self, first, axis, sign)) {
    all.level[self] = 1;
    first = first_contact(all, arena, self, axis, sign, wanted);
  }
  along(&all.position[self], axis) += sign * smaller(first.way, wanted);
  if (first.way < wanted)
    exchange(all, self, first.other, normal_of(first, all.position[self], axis, sign), restitution);
}

// Metres between two bodies.
WW_FUNCTION float gap_between(const Bodies& all, int a, int b) {
  return gap_to(together(rounded(all.shape[a]), rounded(all.shape[b])), all.position[b] - all.position[a]);
}

// Metres between a body and a rectangle.
WW_FUNCTION float gap_to_rectangle(const Bodies& all, int body, const Rectangle& at) {
  return gap_to(together(rounded(all.shape[body]), Rounded{at.half, 0.0f}), at.centre - all.position[body]);
}

// Whether a climber is above nothing.
WW_FUNCTION bool is_clear(const Bodies& all, const Arena& arena, int climber) {
  bool clear = true;
#pragma unroll 1
  for (int wall = 0; wall < arena.num_walls; ++wall) {
    const Rectangle at = rectangle(arena.walls[wall]);
    if (at.half.x > 0.0f && at.half.y > 0.0f) clear &= gap_to_rectangle(all, climber, at) > SKIN;
  }
#pragma unroll 1
  for (int other = all.climbers; other < all.count; ++other) clear &= gap_between(all, climber, other) > SKIN;
  return clear;
}

}  // namespace bodies

// Lets a force in newtons act on a body against its drag: of its velocity 1 / (1 + drag * seconds) stays, so that the
// highest speed is force / (mass * drag). drag: 1 / seconds.
WW_FUNCTION void drive(const Bodies& all, int body, float2 force, float drag, float seconds) {
  using namespace plane;
  const float keeps = 1.0f / (1.0f + drag * seconds), gains = seconds * bodies::inverse_mass(all, body);
  all.velocity[body] = keeps * (all.velocity[body] + gains * force);
}

// Moves all bodies of an env for a part of a step. turn: number of the part, which says who comes first.
WW_FUNCTION void move_bodies_once(const Bodies& all, const Arena& arena, const Motion& motion, int turn) {
  const float seconds = motion.seconds / (float)motion.substeps;
#pragma unroll 1
  for (int i = 0; i < 2 * all.count; ++i) {
    const int body = (turn + i / 2) % all.count;
    bodies::advance(all, arena, body, (turn + i) & 1, seconds, motion.restitution);
  }
  if (all.level == nullptr) return;
#pragma unroll 1
  for (int body = 0; body < all.climbers; ++body)
    if (all.level[body] && bodies::is_clear(all, arena, body)) all.level[body] = 0;
}
