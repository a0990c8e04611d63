// The opponent that does not learn: whom it shoots at, and where it walks. What it chooses by is in Played, see script.cuh.
#pragma once

#include <script.cuh>

#include "skirmish.cuh"

// What the script looks at; `ranges` are of each kind: first how far it reaches, then how far it sees.
struct Battlefield {
  const float *x, *y, *health, *ranges, *goal_x, *goal_y;
  const int *kind, *last_action;
};

// What a unit sees of its opponents.
struct Situation {
  int seen;             // how many
  int chased[STOP];     // of these, those to whom each way leads
  int target;           // whom it shoots at; -1 where none is in reach
};

// The way that leads there the most: of two as good, that which comes first.
__device__ int way_towards(float dx, float dy) {
  const float along[STOP] = {dy, dx, -dy, -dx};
  int best = NORTH;
  for (int way = EAST; way < STOP; ++way)
    if (along[way] > along[best]) best = way;
  return best;
}

__device__ Situation situation_of(const Battlefield& field, int unit) {
  const int i = first_unit() + unit, kind = field.kind[i], last = field.last_action[i] - ATTACK;
  const float reach = field.ranges[kind], sight = field.ranges[NUM_KINDS + kind];
  Situation found = {0, {0, 0, 0, 0}, -1};
  float nearest = INFINITY;
  bool keeps = false;
  for (int k = 0; k < num_opponents(unit); ++k) {
    const int other = first_unit() + opponent(unit, k);
    const float dx = field.x[other] - field.x[i], dy = field.y[other] - field.y[i];
    const float distance = sqrtf(dx * dx + dy * dy);
    if (field.health[other] <= 0.0f || distance >= sight) continue;
    ++found.seen;
    ++found.chased[way_towards(dx, dy)];
    if (distance >= reach) continue;
    keeps |= k == last;
    if (distance >= nearest) continue;
    nearest = distance;
    found.target = k;
  }
  if (keeps) found.target = last;
  return found;
}

// Writes the logarithms of the chances of walking each way.
__device__ void walk(const Battlefield& field, const Situation& situation, int unit, float* logits) {
  const int i = first_unit() + unit;
  const int way = way_towards(field.goal_x[i] - field.x[i], field.goal_y[i] - field.y[i]);
  if (situation.seen == 0) {
    choose(logits, STOP, way);
    return;
  }
  for (int to = NORTH; to < STOP; ++to)
    logits[to] = situation.chased[to] ? logf((float)situation.chased[to] / (float)situation.seen) : NEVER;
}
