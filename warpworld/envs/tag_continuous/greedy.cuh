// The script: whom an agent chases or flees from, and where it steers. What it chooses by is in Played, see script.cuh.
#pragma once

#include <script.cuh>

constexpr float SHARPNESS = 200.0f;  // of logits, per radian of turning

// What the script looks at.
struct Chase {
  const float *loc_x, *loc_y, *direction;
  const int* still_in_the_game;
};

// The vector to the nearest opponent in the game; to the first one where none is.
__device__ float2 to_nearest(const Chase& chase, int agent) {
  const int env = env_id() * NUM_AGENTS, first = agent < TAGGER_COUNT ? TAGGER_COUNT : 0;
  const int end = agent < TAGGER_COUNT ? NUM_AGENTS : TAGGER_COUNT;
  const float x = chase.loc_x[env + agent], y = chase.loc_y[env + agent];
  float2 nearest = make_float2(chase.loc_x[env + first] - x, chase.loc_y[env + first] - y);
  float least = INFINITY;
  for (int other = env + first; other < env + end; ++other) {
    const float dx = chase.loc_x[other] - x, dy = chase.loc_y[other] - y, distance = dx * dx + dy * dy;
    if (!chase.still_in_the_game[other] || distance >= least) continue;
    least = distance;
    nearest = make_float2(dx, dy);
  }
  return nearest;
}

// Radians to the left that lead a tagger towards a vector, and a runner away from it: -pi .. pi.
__device__ float turn_of(const Chase& chase, float2 vector, int agent) {
  const float sign = agent < TAGGER_COUNT ? 1.0f : -1.0f;
  const float wanted = atan2f(sign * vector.y, sign * vector.x);
  const float turn = fmodf(wanted - chase.direction[env_id() * NUM_AGENTS + agent] + 0.5f * TWO_PI, TWO_PI);
  return (turn < 0.0f ? turn + TWO_PI : turn) - 0.5f * TWO_PI;
}

// Writes logits that are higher the stronger an acceleration is, and returns the place of the next head's.
__device__ float* speed_up(float* logits, const float* accelerations, int count) {
  float most = accelerations[0], least = accelerations[0];
  for (int level = 1; level < count; ++level) {
    most = fmaxf(most, accelerations[level]);
    least = fminf(least, accelerations[level]);
  }
  for (int level = 0; level < count; ++level)
    logits[level] = SHARPNESS * ((accelerations[level] - most) / (most - least + 1e-9f));
  return logits + count;
}
