// Transitions of n steps in a ring of rows, by index arithmetic: every observation is stored once.
//
// What follows a transition (Mnih et al. 2015 for one step, Hessel et al. 2018 for n), for k = 0 .. N_STEP - 1 and the
// row k steps later:
//   truncated, not terminated   without FINALS: the return ends before this row, whose observation stands for what
//                               follows; with k = 0 there is none, so the item is not drawable. With FINALS: the reward
//                               counts, and the final observation follows.
//   terminated, or the agent    the reward counts, nothing follows
//   the agent was cut           the reward counts, the next row's observation follows, which is its last
//   else                        the reward counts, the next row's observation follows
#pragma once

#include "rewards.cuh"
#include "ring.cuh"

struct Transition {
  float sum;       // discounted rewards
  float discount;  // of the value of what follows; 0 where nothing does
  int next;        // row of the observation that follows
  bool final;      // it is the final observation of that row
};

__device__ inline Transition transition_of(const Ring& ring, const unsigned char* takes_part, int row, int env,
                                           int agent, float gamma) {
  Transition found{0.0f, 1.0f, row, false};
  for (int k = 0; k < N_STEP; ++k) {
    const int at = row_after(row, k, ring.rows);
    const size_t item = ring.item(at, env, agent);
    const unsigned char flags = takes_part[item];
    found.next = at;
    if ((flags & CUT_OFF) && !FINALS && k > 0) return found;
    if (flags & COUNTS) found.sum += found.discount * learnt_reward(ring.ring_rewards[item]);
    found.discount *= gamma;
    if (flags & ENDS) {
      found.discount = 0.0f;
      return found;
    }
    if (flags & CUT_OFF) {
      found.final = true;
      return found;
    }
    found.next = row_after(at, 1, ring.rows);
    if (flags & CUT_ALONE) return found;
  }
  return found;
}

// ---- priorities by the actor's values ------------------------------------------------------------------------------------
// What the first priority of a complete transition is computed from.
struct FirstPriority {
  const float* ring_taken_values;  // (ROWS, envs, AGENTS): of the action that was taken, with ACTORS_PRIORITY
  const float* ring_best_values;   // of the best action
  const float* largest_leaf;       // (1,)
  float alpha;
};

// Values on a scale that grows with their square root, and back (Pohlen et al. 2018); see value_rescale.py.
constexpr float RESCALE_EPSILON = 1e-3f;

__device__ inline float rescaled(float x) {
  return VALUE_RESCALE ? copysignf(sqrtf(fabsf(x) + 1.0f) - 1.0f, x) + RESCALE_EPSILON * x : x;
}

__device__ inline float unscaled(float x) {
  if (!VALUE_RESCALE) return x;
  const float more = fabsf(x) + 1.0f + RESCALE_EPSILON;
  const float part = 2.0f * more / (1.0f + sqrtf(1.0f + 4.0f * RESCALE_EPSILON * more));
  return copysignf(part * part - 1.0f, x);
}

// The error of an action's value, by the values that the actor had when it acted. The next observation is in the ring.
__device__ inline float acted_error(const Ring& ring, const FirstPriority& first, const Transition& found, size_t item,
                                    int env, int agent) {
  float next = 0.0f;
  if (found.discount > 0.0f)
    next = found.discount * unscaled(first.ring_best_values[ring.item(found.next, env, agent)]);
  return rescaled(found.sum + next) - first.ring_taken_values[item];
}
