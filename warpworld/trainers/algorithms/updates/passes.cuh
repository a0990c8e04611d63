// Passes over a rollout's rows in minibatches, as kernels take them that learn: what is read, the sums over what parts of a
// minibatch found, and steps along the gradient. With SEQUENCES rows are shuffled in sequences.
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

// What comes of minibatches: the gradient (SIZE,), of the last one scaled down where no step is taken, and diagnostics
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

// ---- moments of the advantages ---------------------------------------------------------------------------------------
// Of each minibatch: found (minibatches, parts, MOMENTS).
__device__ inline void find_moments(const Rows& data, const Passes& passes, double* found, int minibatches, int parts,
                                    int num_envs, Sums& sums) {
  for (int job = env_id(); job < minibatches * parts; job += num_envs) {
    const Minibatch own = passes.at(job / parts);
    double of_lane[MOMENTS] = {};
    for (int i = job % parts * LANES + lane(); i < own.rows(); i += parts * LANES) add_moments(data, own.row(i), of_lane);
    put_moments(sums, of_lane, found + (size_t)job * MOMENTS);
  }
}

// ---- sums ------------------------------------------------------------------------------------------------------------
constexpr int WAYS = 4, AT_ONCE = LANES / WAYS;  // lanes that share a parameter, and parameters of a sum at a time

// What parts found of a parameter: numbers that lie `pitch` apart.
struct Column {
  const float* numbers;
  int pitch;
};

// What is added up: `size` parameters of so many parts, in so many sums, and diagnostics (figure_parts, FIGURES). squares (sums,):
// what each sum has of the gradient's.
struct Summed {
  int size, parts, figure_parts, sums;
  const double* figures;
  double* squares;
};

// Adds up what parts found: the gradient of some parameters, and in the first sum the diagnostics of the minibatch.
template <class Parts>
__device__ void add_up(const Summed& summed, const Parts& found, float* gradient, float* diagnostics, int item, Sums& sums) {
  double squared = 0.0;
  for (int first = item * AT_ONCE; first < summed.size; first += summed.sums * AT_ONCE) {
    const int place = min(first + lane() % AT_ONCE, summed.size - 1);
    const Column column = found.at(place);
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
  if (lane() == 0) summed.squares[item] = of_item;
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

// What a step reads: the gradient's squares of so many sums; and in how many parts it is taken.
struct Stepped {
  int size, sums, steps;
  const double* squares;
};

// Scales the gradient down, and takes a step of some parameters along it. diagnostics: of the minibatch.
__device__ inline void step(const Adam& adam, const Stepped& from, const Given& given, float* vector, float* diagnostics,
                            int number, int item, Sums& sums) {
  double some = 0.0;
  for (int sum = lane(); sum < from.sums; sum += LANES) some += from.squares[sum];
  const float length = (float)sqrt(sum_of_lanes(sums, some));
  if (item == 0 && lane() == 0) diagnostics[NUM_FIGURES] = length;
  const float scale = scale_of(length, given.longest);
  float* gradient = (float*)given.gradient;
  if (!adam.mean) {
    for (int i = item * LANES + lane(); i < from.size; i += from.steps * LANES) gradient[i] *= scale;
    return;
  }
  const float rate = rate_of(adam, diagnostics[APPROX_KL], number, number == 0);
  if (adam.rates && item == 0 && lane() == 0) ((float*)adam.rates)[number] = rate;
  move_along(adam, rate, number, scale, gradient, vector, item * LANES + lane(), from.steps * LANES, from.size);
}

// The rate of minibatch `number`, whose step is taken.
__device__ inline float rate_in(const Adam& adam, int number) {
  return adam.rates ? ((const float*)adam.rates)[number] : *(const float*)adam.rate;
}

// Ends a block's work; the last one counts the steps of so many minibatches, and leaves the rate of the next one.
__device__ inline void end_launch(const Turns& turns, const Adam& adam, int minibatches, int blocks) {
  if (!turns.leave(blocks) || !adam.mean) return;
  *(float*)adam.steps += (float)minibatches;
  if (adam.rates) *(float*)adam.rate = ((const float*)adam.rates)[minibatches - 1];
}
