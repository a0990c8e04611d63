// What shots hit, and how well agents aim: straight lines between agents and walls of a plan.
#pragma once

#include <in_sight.cuh>
#include <indoor.cuh>

constexpr int NO_SHOT = -2, MISSED = -1;      // instead of the agent that a shot has hit
constexpr float AIM = 15.0f;                  // degrees off a target at which aim has lost most of its worth

// Where another agent is, seen from one that looks ahead: metres before it, and to its left.
WW_FUNCTION float2 before(const Motion& motion, float2 place) {
  using namespace plane;
  const float2 ahead = direction_of(motion.angle), offset = place - motion.position;
  return make_float2(dot(offset, ahead), dot(offset, left_of(ahead)));
}

// What a gun reaches: the agents whose disc touches a cone ahead.
struct Gun {
  float fire_cone;   // degrees between its middle and its edge
  float fire_range;  // metres
};

// The nearest agent in sight that a shot hits, or MISSED.
WW_FUNCTION int hit_by(const Gun& gun, const Motion& motion, const float2* positions, const bool* in_sight) {
  const float cosine = cosf(gun.fire_cone * DEGREES), sine = sinf(gun.fire_cone * DEGREES);
  int hit = MISSED;
  float nearest = gun.fire_range;
  for (int other = 0; other < NUM_AGENTS; ++other) {
    const float2 there = before(motion, positions[other]);
    const float distance = plane::length(there), beside = fabsf(there.y) * cosine - there.x * sine;
    if (!in_sight[other] || there.x <= 0.0f || beside > AGENT_RADIUS || distance > nearest) continue;
    if (distance == nearest && hit != MISSED) continue;  // of two as near, that of the lower index
    hit = other;
    nearest = distance;
  }
  return hit;
}

// How many times its own length a ray goes until it hits a wall; infinite if it does not.
WW_FUNCTION float way_to(const plane::Segment& wall, float2 from, float2 ray) {
  using namespace plane;
  const float2 along = wall.b - wall.a, to_wall = wall.a - from;
  const float across = cross(ray, along), way = cross(to_wall, along) / across, place = cross(to_wall, ray) / across;
  return across != 0.0f && place >= 0.0f && place <= 1.0f && way >= 0.0f ? way : INFINITY;
}
WW_FUNCTION float way_to(const Walls& walls, float2 from, float2 ray) {
  float nearest = INFINITY;
  for (int i = 0; i < walls.count; ++i)
    nearest = plane::smaller(nearest, way_to(plane::segment(walls.ends[i]), from, ray));
  return nearest;
}

// Where a shot that misses ends: at a wall, or as far as the gun reaches.
WW_FUNCTION float2 end_of_shot(const Gun& gun, const Motion& motion, const Walls& walls) {
  using namespace plane;
  const float2 ahead = direction_of(motion.angle);
  return motion.position + smaller(way_to(walls, motion.position, ahead), gun.fire_range) * ahead;
}

// How well an agent is placed, 0 .. 1: 0 if no agent is in view, half for one in view, and the more the better it aims.
WW_FUNCTION float potential_of(const Motion& motion, const float2* positions, const bool* in_sight,
                               float tan_half_fov) {
  float best = 0.0f;
  for (int other = 0; other < NUM_AGENTS; ++other) {
    const float2 there = before(motion, positions[other]);
    if (!in_sight[other] || there.x <= 0.0f || fabsf(there.y) > tan_half_fov * there.x) continue;
    best = plane::larger(best, 0.5f + 0.5f * expf(-atan2f(fabsf(there.y), there.x) / (AIM * DEGREES)));
  }
  return best;
}
