// What the kernels of PPO's and A2C's losses for rows of choices share: settings, rows, and the loss of a row with its gradient at
// logits and value. Formulas: ppo.py, a2c.py.
//
// LOGITS is the number of choices of all NUM_HEADS heads, HEAD_SIZE that of each head, or 0 where they differ; a head's size is
// then read from `head_sizes`. LANES is a power of two, and an env has that many lanes at most.
#pragma once

#include "drawing.cuh"
#include "lane_sums.cuh"

constexpr int MOMENTS = 3, FIGURES = 8;  // doubles of an env
enum { POLICY_LOSS, VALUE_LOSS, ENTROPY, APPROX_KL, OLD_APPROX_KL, CLIPFRAC, NUM_FIGURES };

// A setting: a number, or where it changes from one update to the next, the address of one.
struct Setting {
  int64_t address;
  float number;

  __device__ float now() const { return address ? *(const float*)address : number; }
};

// The coefficients of a loss, as they are now.
struct Factors {
  float clip, entropy, value, kl;
};

// The coefficients of a loss.
struct Coefficients {
  Setting clip, entropy, value, kl;

  __device__ Factors now() const { return Factors{clip.now(), entropy.now(), value.now(), kl.now()}; }
};

// What is learnt from, (rows, ...) each.
struct Rows {
  int64_t actions, log_probs, advantages, returns, values, importance, mask, action_masks;

  __device__ bool counts(int row) const { return !mask || ((const bool*)mask)[row]; }
  __device__ float at(int64_t column, int row) const { return ((const float*)column)[row]; }
};

struct Loss {
  bool surrogate, clip_value_loss, normalise_advantages;
  float epsilon;  // of a deviation
};

// ---- moments of the advantages ---------------------------------------------------------------------------------------
// Adds a row to sums of MOMENTS.
__device__ inline void add_moments(const Rows& data, int row, double* sums) {
  if (!data.counts(row)) return;
  const double advantage = (double)data.at(data.advantages, row);
  sums[0] += 1.0;
  sums[1] += advantage;
  sums[2] += advantage * advantage;
}

// Adds the sums of all lanes up, and leaves them at `found`.
__device__ inline void put_moments(Sums& sums, const double* of_lane, double* found) {
  for (int i = 0; i < MOMENTS; ++i) {
    const double sum = sum_of_lanes(sums, of_lane[i]);
    if (lane() == 0) found[i] = sum;
  }
}

// What all rows of a minibatch share: the weight of each that counts, and mean and inverse deviation of the advantages.
struct Common {
  float weight, mean, scale;
};

__device__ inline Common common_of(Sums& sums, int64_t found, const Loss& loss, int rows, int num_envs) {
  if (!found) return Common{1.0f / (float)rows, 0.0f, 1.0f};
  double all[MOMENTS];
  for (int i = 0; i < MOMENTS; ++i) {
    double some = 0.0;
    for (int env = lane(); env < num_envs; env += num_lanes()) some += ((const double*)found)[env * MOMENTS + i];
    all[i] = sum_of_lanes(sums, some);
  }
  const double count = all[0] > 1.0 ? all[0] : 1.0, mean = all[1] / count;
  const double squares = all[2] - all[1] * mean, spare = all[0] > 2.0 ? all[0] - 1.0 : 1.0;
  const float deviation = sqrtf((float)((squares > 0.0 ? squares : 0.0) / spare)) + loss.epsilon;
  const bool normalises = loss.normalise_advantages;
  return Common{(float)(1.0 / count), normalises ? (float)mean : 0.0f, normalises ? 1.0f / deviation : 1.0f};
}

// ---- the loss of a row -----------------------------------------------------------------------------------------------
// The loss's derivative by the log-probability of the action.
__device__ inline float pull_of(const Loss& loss, const Common& common, float clip, float kl_coef, float log_prob,
                                float old, float advantage, double* figures) {
  if (!loss.surrogate) {
    figures[POLICY_LOSS] -= (double)(advantage * log_prob);
    return -advantage * common.weight;
  }
  const float log_ratio = log_prob - old, ratio = expf(log_ratio), low = 1.0f - clip, high = 1.0f + clip;
  const float plain = -advantage * ratio, clipped = -advantage * fminf(fmaxf(ratio, low), high);
  const bool is_clipped = plain < clipped, outside = ratio < low || ratio > high;
  figures[POLICY_LOSS] += (double)(is_clipped ? clipped : plain);
  figures[APPROX_KL] += (double)((ratio - 1.0f) - log_ratio);
  figures[OLD_APPROX_KL] -= (double)log_ratio;
  figures[CLIPFRAC] += fabsf(ratio - 1.0f) > clip ? 1.0 : 0.0;
  const float penalty = kl_coef > 0.0f ? kl_coef * (ratio - 1.0f) : 0.0f;  // of approx_kl
  return ((is_clipped && outside ? 0.0f : -advantage) * ratio + penalty) * common.weight;
}

// Half the squared error, or the larger one of it and that of a value near the old one; its derivative by the value.
__device__ inline float slope_of(const Loss& loss, float clip, float value, float old, float wanted, double* figures) {
  const float error = value - wanted;
  float squared = error * error, slope = error;
  if (loss.clip_value_loss) {
    const float moved = value - old, near = old + fminf(fmaxf(moved, -clip), clip) - wanted;
    const float near_slope = moved < -clip || moved > clip ? 0.0f : near;
    slope = squared > near * near ? error : squared < near * near ? near_slope : 0.5f * (error + near_slope);
    squared = near * near <= squared ? squared : near * near;
  }
  figures[VALUE_LOSS] += 0.5 * (double)squared;
  return slope;
}

__device__ inline int size_of(const int* head_sizes, int head) { return HEAD_SIZE ? HEAD_SIZE : head_sizes[head]; }

// Numbers that lie Step apart.
template <int Step>
struct Spaced {
  float* first;

  __device__ float& operator[](int i) const { return first[i * Step]; }
  __device__ Spaced behind(int count) const { return Spaced{first + count * Step}; }
};

// Turns a head's logits into log-probabilities; returns their entropy.
template <class Numbers>
__device__ float normalise(const Numbers& logits, int size) {
  float highest = logits[0];
  for (int i = 1; i < size; ++i) highest = logits[i] > highest ? logits[i] : highest;
  float total = 0.0f, entropy = 0.0f;
  for (int i = 0; i < size; ++i) total += expf(logits[i] - highest);
  const float log_total = logf(total);
  for (int i = 0; i < size; ++i) {
    logits[i] = (logits[i] - highest) - log_total;
    entropy -= expf(logits[i]) * logits[i];
  }
  return entropy;
}

// Turns a head's log-probabilities into the gradient at its logits: that of -ent_coef * entropy is
// ent_coef * p (log p + entropy), that of the action's log-probability 1 - p at its own logit and -p at the others.
template <class Numbers>
__device__ void differentiate(const Numbers& logits, int size, int action, float pull, float bonus, float entropy) {
  for (int i = 0; i < size; ++i) {
    const float probability = expf(logits[i]);
    logits[i] = probability * (bonus * (logits[i] + entropy) - pull) + (i == action ? pull : 0.0f);
  }
}

// From a row's logits to their gradient.
template <class Numbers>
__device__ void differentiate_choices(const Rows& data, const Loss& loss, const Common& common, const int* head_sizes,
                                      const Factors& now, const Numbers& logits, int row, double* figures) {
  const bool* allowed = data.action_masks ? (const bool*)data.action_masks + (size_t)row * LOGITS : nullptr;
  const int* actions = (const int*)data.actions + (size_t)row * NUM_HEADS;
  for (int i = 0; allowed && i < LOGITS; ++i) logits[i] = allowed[i] ? logits[i] : FORBIDDEN;
  float entropies[NUM_HEADS], log_prob = 0.0f, entropy = 0.0f;
  Numbers own = logits;
  for (int head = 0; head < NUM_HEADS; own = own.behind(size_of(head_sizes, head++))) {
    entropies[head] = normalise(own, size_of(head_sizes, head));
    entropy += entropies[head];
    log_prob += own[actions[head]];
  }
  figures[ENTROPY] += (double)entropy;
  const float weight = data.importance ? data.at(data.importance, row) : 1.0f;
  const float advantage = (data.at(data.advantages, row) - common.mean) * common.scale * weight;
  const float pull =
      pull_of(loss, common, now.clip, now.kl, log_prob, data.at(data.log_probs, row), advantage, figures);
  own = logits;
  for (int head = 0; head < NUM_HEADS; own = own.behind(size_of(head_sizes, head++)))
    differentiate(own, size_of(head_sizes, head), actions[head], pull, now.entropy * common.weight, entropies[head]);
  for (int i = 0; allowed && i < LOGITS; ++i) logits[i] = allowed[i] ? logits[i] : 0.0f;
}

// The gradient at a row's value.
__device__ inline float differentiate_value(const Rows& data, const Loss& loss, const Common& common, const Factors& now,
                                            float value, int row, double* figures) {
  const float old = data.at(data.values, row), wanted = data.at(data.returns, row);
  return now.value * common.weight * slope_of(loss, now.clip, value, old, wanted, figures);
}
