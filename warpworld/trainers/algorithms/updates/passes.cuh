// Passes over a rollout's rows in minibatches, as kernels take them that learn: moments of the advantages, sums over what parts of
// a minibatch found, and steps along the gradient. With SEQUENCES rows are shuffled in sequences.
//
// A policy's passes are turns (in_turn.cuh): moments of the advantages of all minibatches; then of each minibatch the turns that
// learn, sums over what they found for some parameters each, and steps for some parameters each. Muon's phases follow these. Every
// turn writes to places of its own, and what several give is added up in a fixed order, so that results do not depend on which
// block did what.
//
// A launch takes the passes of up to four policies. Each has counters of its own, and a block takes turns of one policy until none
// is left, then of the next one. While it has a turn it waits for smaller turns of the same policy alone, which other running blocks
// have: the smallest turn that is not done waits for nothing. So policies need no blocks of their own, and a single block will do.
#pragma once

#include "choice_loss.cuh"
#include "in_turn.cuh"
#include "optimizer_steps.cuh"

// What a network reads of rows, (rows, numbers), and a normaliser's mean and scale of each number.
struct Seen {
  int64_t numbers, mean, scale;

  __device__ float at(size_t place, int number) const {
    const float x = ((const float*)numbers)[place];
    if (!mean) return x;
    const float scaled = (x - ((const float*)mean)[number]) * ((const float*)scale)[number];
    return scaled < -10.0f ? -10.0f : scaled > 10.0f ? 10.0f : scaled;
  }
};

// A minibatch: `count` rows, or sequences of `steps` rows each, of a pass from `first` on.
struct Minibatch {
  int64_t order;
  int first, count, steps;

  __device__ int rows() const { return SEQUENCES ? count * steps : count; }
  __device__ int sequence(int i) const { return order ? (int)((const int64_t*)order)[first + i] : first + i; }
  __device__ int row(int i) const { return SEQUENCES ? sequence(i / steps) * steps + i % steps : sequence(i); }
};

// The passes that follow each other, each over all rows in `minibatches` parts, of which the first ones have a row more where
// they cannot be equal. `order` numbers the rows, pass by pass; without it a pass is one minibatch of rows as they lie. With
// SEQUENCES read sequences for rows.
struct Passes {
  int64_t order;
  int total, minibatches, steps;

  __device__ Minibatch at(int number) const {
    const int part = number % minibatches, length = total / minibatches, more = total % minibatches;
    const int first = order ? number / minibatches * total : 0;
    return Minibatch{order, first + part * length + min(part, more), length + (part < more), steps};
  }
};

// What comes of minibatches: the gradient (size,), of the last one scaled down where no step is taken, and diagnostics
// (minibatches, NUM_FIGURES + 1), of which the last is the gradient's length before. The longest one, or 0 without limit.
struct Given {
  int64_t gradient, diagnostics;
  float longest;
};

// The loss, and where blocks count their turns.
struct Terms {
  Coefficients coefficients;
  Loss loss;
  int64_t counters;
};

// How work is divided: minibatches from `first` on; turns that find the moments of each; turns of each that learn, add up, step,
// and move matrices; how many blocks find work at once; and the number of the networks' shape among those that the build defines.
struct Division {
  int first, count, moments, learning, sums, steps, matrices, blocks, shape;

  __device__ int finding() const { return count * moments; }  // turns before those of minibatches
  __device__ int of_minibatch() const { return learning + sums + steps + (MUON ? matrices : 0); }
  __device__ int item_of(int turn) const { return (turn - finding()) % of_minibatch(); }
};

// The passes of a policy. vector (size,): its parameters; moments (minibatches, parts, MOMENTS), or 0 where none are needed; squares
// (sums,): what each sum has of the gradient's. Without counters there are none.
struct Course {
  Rows data;
  Passes passes;
  int64_t vector, moments, squares, head_sizes;
  Given given;
  Adam adam;
  Division division;
  Terms terms;

  // The moments of a minibatch.
  __device__ int64_t moments_of(int place) const {
    return moments ? moments + (int64_t)sizeof(double) * place * division.moments * MOMENTS : 0;
  }
  __device__ float* diagnostics_of(int place) const { return (float*)given.diagnostics + (size_t)place * (NUM_FIGURES + 1); }
};

// What the lanes of a block share: the number of its turn, the policy that it is of, and for how many it looks yet. None of it is
// kept in registers, which are for gradients; for the same reason policies lie in shared memory, too.
struct Shared {
  Sums sums;
  int turn, policy, policies;
};

// ---- moments of the advantages ---------------------------------------------------------------------------------------
// Of a part of a minibatch.
__device__ inline void find_moments(const Course& course, int turn, Sums& sums) {
  const int parts = course.division.moments, place = course.division.first + turn / parts, part = turn % parts;
  const Minibatch own = course.passes.at(place);
  double of_lane[MOMENTS] = {};
  for (int i = part * LANES + lane(); i < own.rows(); i += parts * LANES) add_moments(course.data, own.row(i), of_lane);
  put_moments(sums, of_lane, (double*)course.moments_of(place) + part * MOMENTS);
}

constexpr int MOST_POLICIES = 4;

// ---- sums ------------------------------------------------------------------------------------------------------------
constexpr int WAYS = 4, AT_ONCE = LANES / WAYS;  // lanes that share a parameter, and parameters of a sum at a time

// What parts found of a parameter: numbers that lie `pitch` apart.
struct Column {
  const float* numbers;
  int pitch;
};

// What is added up: `size` parameters of so many parts, and diagnostics (figure_parts, FIGURES).
struct Summed {
  int size, parts, figure_parts;
  const double* figures;
};

// Adds up what a policy's parts found: the gradient of some parameters, and in the first sum the diagnostics of the minibatch.
template <class Policy>
__device__ void add_up(const Policy& policy, float* diagnostics, int item, Sums& sums) {
  const Course& course = policy.course();
  const Summed summed = policy.summed();
  float* gradient = (float*)course.given.gradient;
  double squared = 0.0;
  for (int first = item * AT_ONCE; first < summed.size; first += course.division.sums * AT_ONCE) {
    const int place = min(first + lane() % AT_ONCE, summed.size - 1);
    const Column column = policy.column(place);
    double sum = 0.0;
#pragma unroll 4
    for (int part = lane() / AT_ONCE; part < summed.parts; part += WAYS)
      sum += (double)column.numbers[(size_t)part * column.pitch];
    sync_env();  // orders the reading of sums before
    sums.of_lanes[lane()] = sum;
    sync_env();  // orders the sums before they are added
    if (lane() < AT_ONCE && first + lane() < summed.size) {
      for (int way = 1; way < WAYS; ++way) sum += sums.of_lanes[lane() + way * AT_ONCE];
      const float whole = (float)sum;
      gradient[place] = whole;
      squared += (double)whole * (double)whole;
    }
  }
  const double of_item = sum_of_lanes(sums, squared);
  if (lane() == 0) ((double*)course.squares)[item] = of_item;
  if (item > 0) return;
  for (int i = 0; i < NUM_FIGURES; ++i) {
    double some = 0.0;
    for (int part = lane(); part < summed.figure_parts; part += LANES) some += summed.figures[part * FIGURES + i];
    const double sum = sum_of_lanes(sums, some);
    if (lane() == 0) diagnostics[i] = (float)sum;
  }
}

// ---- steps -----------------------------------------------------------------------------------------------------------
// The rate of minibatch `number`, whose divergence is known.
__device__ inline float rate_of(const Adam& adam, float divergence, int number, bool is_first) {
  const float before = is_first || !adam.rates ? *(const float*)adam.rate : ((const float*)adam.rates)[number - 1];
  if (!adam.rates || (is_first && !adam.has_moved)) return before;
  if (divergence > 2.0f * adam.desired_kl) return fmaxf(before / 1.5f, adam.lowest);
  const bool is_small = divergence < adam.desired_kl / 2.0f && divergence != 0.0f;
  return is_small ? fminf(before * 1.5f, adam.highest) : before;
}

// Scales the gradient down, and takes a step of some of `size` parameters along it. diagnostics: of the minibatch.
__device__ inline void step(const Course& course, int size, float* diagnostics, int number, int item, Sums& sums) {
  const Adam& adam = course.adam;
  const int steps = course.division.steps;
  double some = 0.0;
  for (int sum = lane(); sum < course.division.sums; sum += LANES) some += ((const double*)course.squares)[sum];
  const float length = (float)sqrt(sum_of_lanes(sums, some));
  if (item == 0 && lane() == 0) diagnostics[NUM_FIGURES] = length;
  const float scale = scale_of(length, course.given.longest);
  float* gradient = (float*)course.given.gradient;
  if (!adam.mean) {
    for (int i = item * LANES + lane(); i < size; i += steps * LANES) gradient[i] *= scale;
    return;
  }
  const float rate = rate_of(adam, diagnostics[APPROX_KL], number, number == 0);
  if (adam.rates && item == 0 && lane() == 0) ((float*)adam.rates)[number] = rate;
  move_along(adam, rate, number, scale, gradient, (float*)course.vector, item * LANES + lane(), steps * LANES, size);
}

// The rate of minibatch `number`, whose step is taken.
__device__ inline float rate_in(const Adam& adam, int number) {
  return adam.rates ? ((const float*)adam.rates)[number] : *(const float*)adam.rate;
}

// Ends a block's work; the last one counts the steps of so many minibatches, and leaves the rate of the next one.
__device__ inline void end_passes(const Turns& turns, const Adam& adam, int minibatches, int blocks) {
  if (!turns.leave(blocks) || !adam.mean) return;
  *(float*)adam.steps += (float)minibatches;
  if (adam.rates) *(float*)adam.rate = ((const float*)adam.rates)[minibatches - 1];
}

// ---- policies --------------------------------------------------------------------------------------------------------
// Takes turns of a policy's passes until none is left. It has a course(); learn(place, item, before) takes turn `item` of those
// that learn from minibatch `place`, before which so many turns are done; column(place) is what parts found of a parameter, of
// which there are summed(). numbers: shared memory for tiles.
template <class Policy>
__device__ void take_passes(const Policy& policy, Shared& shared, float* numbers, int blocks) {
  const Course& course = policy.course();
  const Division& division = course.division;
  const Turns turns{course.terms.counters};
  for (;;) {
    const int turn = turns.take(shared.turn);
    if (turn < division.finding()) {
      find_moments(course, turn, shared.sums);
      turns.done();
      continue;
    }
    const int number = (turn - division.finding()) / division.of_minibatch(), item = division.item_of(turn);
    if (number >= division.count) break;
    const int summing = division.learning, stepping = summing + division.sums, moving = stepping + division.steps;
    const int place = division.first + number, before = turn - item;
    if (item < summing) {
      policy.learn(place, item, before);
    } else if (item < stepping) {
      turns.wait_for(before + summing);
      add_up(policy, course.diagnostics_of(place), item - summing, shared.sums);
    } else if (!MUON || item < moving) {
      turns.wait_for(before + stepping);
      step(course, policy.summed().size, course.diagnostics_of(place), number, item - stepping, shared.sums);
    } else {
      turns.wait_for(before + moving + phase_of(course.adam.muon, item - moving));
      take_turn(course.adam.muon, item - moving, rate_in(course.adam, number), (float*)course.vector, numbers, shared.sums);
    }
    turns.done();
  }
  end_passes(turns, course.adam, division.count, blocks);
}

// How many of `block` blocks a policy is dealt of all, if `share` of `all` are its own.
__device__ inline int dealt(int block, int share, int all) { return (int)((int64_t)block * share / all); }

// The policy whose turns a block takes first, by how many blocks find work of each at once. Blocks are dealt out in turn, so that of
// any number of them that run at the same time all policies have their share.
__device__ inline int dealt_to(int block, int first, int second, int third, int fourth) {
  int all = first + second + third + fourth;
  const int shares[] = {first, second, third};
#pragma unroll
  for (int policy = 0; policy < 3; ++policy) {
    const int share = shares[policy], before = all == 0 ? 0 : dealt(block, share, all);
    if (all == share || dealt(block + 1, share, all) > before) return policy;
    block -= before, all -= share;
  }
  return 3;
}

// The first policy of a block, or the next one with work, is left in shared memory; returns whether there is one.
template <class Learnt>
__device__ bool take_policy(Shared& shared, Learnt& own, bool is_first, const Learnt& first, const Learnt& second,
                            const Learnt& third, const Learnt& fourth) {
  do {
    sync_env();  // orders the reading of the policy before
    if (lane() == 0) {
      const int policy = is_first ? dealt_to(env_id(), first.course.division.blocks, second.course.division.blocks,
                                             third.course.division.blocks, fourth.course.division.blocks)
                                  : (shared.policy + 1) % MOST_POLICIES;
      shared.policy = policy;
      shared.policies = is_first ? MOST_POLICIES : shared.policies - 1;
      if (policy == 0) own = first;
      if (policy == 1) own = second;
      if (policy == 2) own = third;
      if (policy == 3) own = fourth;
    }
    sync_env();  // orders the policy before it is read
    is_first = false;
  } while (shared.policies > 0 && !own.course.terms.counters);
  return shared.policies > 0;
}
