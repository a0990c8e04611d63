// Where units start, and of which kind they are where a scenario leaves that to chance.
//
// Sides that are drawn are those that SMAX draws for SMACv2. Of each side's first units those with the same number are of
// the same kind. In half of the episodes these are mirrored, each side in its half of the map. In the others one side
// stands in the middle; units of the other are around it, in parts that lie between the corners and the middle.
#pragma once

#include "skirmish.cuh"

constexpr int NUM_PARTS = 4;     // of the side that is around the other, one for each corner
constexpr float NEAR_BY = 2.0f;  // cells from where several units start, along either axis

struct Start {
  int kind;
  float x, y;
};

// Where both sides of an episode are, if they are drawn.
struct Deployment {
  bool is_mirrored, are_allies_inside;
  float inwards[NUM_PARTS];  // from a corner, 0, to the middle, 1
};

__device__ Deployment deployment() {
  Random random = Random::of(NUM_AGENTS);  // no unit's
  Deployment both;
  both.is_mirrored = random.uniform() < 0.5f;
  both.are_allies_inside = random.uniform() < 0.5f;
  for (int part = 0; part < NUM_PARTS; ++part) both.inwards[part] = random.uniform();
  return both;
}

// The first unit with the same number as this one on its side.
__device__ int model_of(int unit) {
  const int number = unit - ALLY_COUNT;
  return !is_ally(unit) && number < ALLY_COUNT ? number : unit;
}

// Puts a unit in one of the parts around the other side.
__device__ void place_around(const Deployment& both, Random& random, float width, float height, Start& start) {
  const int part = (int)random.below(NUM_PARTS);
  const float near = 0.5f * both.inwards[part], far = 1.0f - near;  // from either edge, in parts of the map
  start.x = width * (part < NUM_PARTS / 2 ? near : far);
  start.y = height * (part % 2 ? far : near);
}

__device__ Start drawn_start(int unit, float width, float height) {
  const Deployment both = deployment();
  Random common = Random::of(model_of(unit)), own = Random::of(NUM_AGENTS + 1 + unit);
  Start start = {(int)common.below(NUM_KINDS), 0.5f * width, 0.5f * height};
  if (both.is_mirrored) {
    const float x = common.uniform(0.0f, 0.5f * width);
    return {start.kind, is_ally(unit) ? x : width - x, common.uniform(0.0f, height)};
  }
  if (is_ally(unit) != both.are_allies_inside) place_around(both, own, width, height, start);
  start.x += own.uniform(-NEAR_BY, NEAR_BY);
  start.y += own.uniform(-NEAR_BY, NEAR_BY);
  return start;
}

// `kind` is negative where sides are drawn; else each starts in a square on its side of the map.
__device__ Start start_of(int kind, int unit, float width, float height) {
  if (kind < 0) return drawn_start(unit, width, height);
  Random random = Random::of(unit);
  const float x = width * (is_ally(unit) ? 0.25f : 0.75f) + random.uniform(-NEAR_BY, NEAR_BY);
  return {kind, x, height * 0.5f + random.uniform(-NEAR_BY, NEAR_BY)};
}
