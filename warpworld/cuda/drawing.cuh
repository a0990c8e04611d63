// Draws of one agent, whichever group it belongs to: nothing here reads the build's constants. The kernels that draw from
// a policy's outputs share it, so that they draw the same actions from the same numbers.
//
// Template parameters are not named in capitals: a file that includes this may be built with constants of any such name.
#pragma once

#include "finite.cuh"

// ---- choices ---------------------------------------------------------------------------------------------------------
// The middle of one of 2^23 equal parts. With 0 among the numbers, the first action would be taken once in 2^24 draws,
// however unlikely it is.
__device__ inline float between_0_and_1(Random& random) {
  return ((float)(random.bits() >> 9) + 0.5f) * 1.1920928955078125e-7f;
}

constexpr float FORBIDDEN = -1e8f;  // the logit of a forbidden choice, as in policies/distributions/distribution.py

// How logits divide into heads: `count` heads of `choices` choices together; `each` is the size of every head, or 0
// where they differ: loops of a known length are unrolled.
template <int Count, int Choices, int Each>
struct Heads {
  static constexpr int count = Count, choices = Choices;
  static __device__ int size(const int* head_sizes, int head) { return Each ? Each : head_sizes[head]; }
};

// A choice with probability exp(logits[i]) / sum, by inverting the cumulated weights at a uniform number: the first
// whose cumulated weight is above the target. An action whose weight is 0 adds nothing, so it is never the first; and
// the target is below the sum, since the number is at most 1 - 2^-24. Where a logit is NaN the choice is 0.
template <int Most>
__device__ int choose(const float* logits, int count, Random& random, float* log_prob) {
  float highest = logits[0];
  for (int i = 1; i < count; ++i) highest = logits[i] > highest ? logits[i] : highest;
  float cumulated[Most];
  for (int i = 0; i < count; ++i) cumulated[i] = expf(logits[i] - highest);
  for (int i = 1; i < count; ++i) cumulated[i] += cumulated[i - 1];
  const float total = cumulated[count - 1], target = between_0_and_1(random) * total;
  int chosen = 0;
  for (int i = 0; i < count; ++i) chosen += cumulated[i] <= target;
  *log_prob = logits[chosen] - highest - logf(total);
  return chosen;
}

__device__ inline int most_likely(const float* logits, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i)
    if (logits[i] > logits[best]) best = i;
  return best;
}

// Draws the agent's choice of each head into `actions` and, unless it is null, into `kept`. Returns the logarithm of
// their probability.
template <class Own>
__device__ float choose_all(const float* logits, const int* head_sizes, Random random, int* actions, int* kept) {
  float log_prob = 0.0f;
  for (int head = 0; head < Own::count; ++head) {
    float part;
    const int size = Own::size(head_sizes, head), action = choose<Own::choices>(logits, size, random, &part);
    actions[head] = action;
    if (kept) kept[head] = action;
    log_prob += part;
    logits += size;
  }
  return log_prob;
}

// Takes the most likely choice of each head.
template <class Own>
__device__ void take_most_likely(const float* logits, const int* head_sizes, int* actions) {
  for (int head = 0; head < Own::count; ++head) {
    const int size = Own::size(head_sizes, head);
    actions[head] = most_likely(logits, size);
    logits += size;
  }
}

// ---- a Box -----------------------------------------------------------------------------------------------------------
constexpr float HALF_LOG_2_PI = 0.91893853320467274f;

// What was drawn for dimension i, scaled to the Box and cut off at its bounds. box: centre, scale, low and high of each
// of Size dimensions.
template <int Size>
__device__ float scaled_to_box(const float* box, int i, float drawn) {
  const float centre = box[i], scale = box[Size + i], low = box[2 * Size + i], high = box[3 * Size + i];
  return fminf(fmaxf(centre + scale * drawn, low), high);
}

// Draws the agent's numbers from normal distributions into `drawn`, which may be `means`. Returns the logarithm of their
// density.
template <int Size>
__device__ float draw_normal(const float* means, const float* log_stds, Random random, float* drawn) {
  float log_prob = 0.0f;
  for (int i = 0; i < Size; ++i) {
    const float normal = random.normal();
    drawn[i] = means[i] + expf(log_stds[i]) * normal;
    log_prob -= 0.5f * normal * normal + log_stds[i] + HALF_LOG_2_PI;
  }
  return log_prob;
}

// Takes what was drawn, or the means.
template <int Size>
__device__ void take_scaled(const float* drawn, const float* box, float* actions) {
  for (int i = 0; i < Size; ++i) actions[i] = scaled_to_box<Size>(box, i, drawn[i]);
}

// Draws without a policy: uniformly between finite bounds, else from the standard normal distribution.
template <int Size>
__device__ void draw_at_random(const float* box, Random& random, float* actions) {
  for (int i = 0; i < Size; ++i) {
    const float low = box[2 * Size + i], high = box[3 * Size + i];
    const bool bounded = low > -INFINITY && high < INFINITY;
    actions[i] = scaled_to_box<Size>(box, i, bounded ? random.uniform(-1.0f, 1.0f) : random.normal());
  }
}

// ---- observations ----------------------------------------------------------------------------------------------------
__device__ inline bool is_finite(unsigned char) { return true; }  // the host looks at floats among bytes

// Copies bytes in words, of which the env's lanes take turns; both begin at a multiple of a word.
template <class Word>
__device__ void copy_words(const unsigned char* seen, unsigned char* kept, int bytes) {
  for (int i = lane(); i < bytes / (int)sizeof(Word); i += num_lanes()) ((Word*)kept)[i] = ((const Word*)seen)[i];
}

// Copies the numbers first, first + stride, ... below end. Returns whether all of them are finite.
template <class Number>
__device__ bool copy_finite(const Number* seen, Number* kept, int first, int end, int stride) {
  bool all_finite = true;
  for (int i = first; i < end; i += stride) {
    kept[i] = seen[i];
    all_finite &= is_finite(seen[i]);
  }
  return all_finite;
}
