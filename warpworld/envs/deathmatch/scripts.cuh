// Opponents that do not learn: a turret, and a walker. What they choose by is in Played, see script.cuh.
#pragma once

#include <script.cuh>

#include "sight.cuh"

constexpr int MOVES = 5, TURNS = 5, FIRES = 2;  // choices of the heads
constexpr int NO_TURN = 0, SLIGHTLY_LEFT = 3;   // of a turn; to the right is the next one
constexpr float SLIGHT = 0.25f;  // of an agent's strength, what a slight turn takes
constexpr float BEYOND = -4.0f;  // how much worse it is to turn too far than not far enough
constexpr int BRAKING = 16;      // steps that a turn is expected to continue

// The opponent that a turret is after.
struct Mark {
  float distance;  // metres; infinite without one
  float off;       // degrees to the left of the aim
};

// The nearest that is in sight and in view of a camera.
__device__ Mark nearest_in_view(const float2* places, const bool* in_sight, float2 place, float angle, float fov) {
  using namespace plane;
  Mark nearest = {INFINITY, 0.0f};
  for (int other = 0; other < NUM_AGENTS; ++other) {
    const float2 offset = places[other] - place;
    const float off = wrapped(atan2f(offset.y, offset.x) / DEGREES - angle), distance = length(offset);
    if (in_sight[other] && 2.0f * fabsf(off) <= fov && distance < nearest.distance) nearest = Mark{distance, off};
  }
  return nearest;
}

// How much a slight turn adds to a spin in a step: degrees a second.
__device__ float slight_turn(const Inertia& inertia) { return SLIGHT * inertia.ang_accel / inertia.fps; }

// Degrees that a turret of so many degrees a second still turns if it brakes as hard as it can.
__device__ float braked(float spin, const Inertia& inertia) {
  float speed = fabsf(spin), way = 0.0f;
  for (int i = 0; i < BRAKING; ++i) {
    speed = plane::larger((1.0f - inertia.decay) * speed - slight_turn(inertia), 0.0f);
    way += speed / inertia.fps;
  }
  return copysignf(way, spin);
}

// Degrees that are still to turn after a step at this spin.
__device__ float left_after(const Mark& mark, float spin, const Inertia& inertia) { return mark.off - spin / inertia.fps; }

// How far from its aim a turret would come to rest, braking from then on; too far counts for more.
__device__ float rest_after(const Mark& mark, float spin, const Inertia& inertia) {
  const float left = left_after(mark, spin, inertia) - braked(spin, inertia);
  const float rest = mark.off > 0.0f ? left : mark.off < 0.0f ? -left : 0.0f;  // below 0 beyond its aim
  return rest < 0.0f ? BEYOND * rest : rest;
}

// Whether a shot hits that is so many degrees off.
__device__ bool would_hit(const Mark& mark, float off, const Gun& gun) {
  const float aim = fabsf(off) * DEGREES, beside = mark.distance * sinf(aim - gun.fire_cone * DEGREES);
  return mark.distance <= gun.fire_range && cosf(aim) > 0.0f && beside <= AGENT_RADIUS;
}
