// What the kernels of PPO's and A2C's losses share, whatever actions are: settings, rows, moments of the advantages, and the
// loss of a row with its derivatives by its action's log-probability and by its value. Formulas: ppo.py, a2c.py.
//
// LANES is a power of two, and an env has that many lanes at most.
#pragma once

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

// The same of a row, from the log-probability of its action.
__device__ inline float pull_of_row(const Rows& data, const Loss& loss, const Common& common, const Factors& now,
                                    float log_prob, int row, double* figures) {
  const float weight = data.importance ? data.at(data.importance, row) : 1.0f;
  const float advantage = (data.at(data.advantages, row) - common.mean) * common.scale * weight;
  return pull_of(loss, common, now.clip, now.kl, log_prob, data.at(data.log_probs, row), advantage, figures);
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

// The gradient at a row's value.
__device__ inline float differentiate_value(const Rows& data, const Loss& loss, const Common& common, const Factors& now,
                                            float value, int row, double* figures) {
  const float old = data.at(data.values, row), wanted = data.at(data.returns, row);
  return now.value * common.weight * slope_of(loss, now.clip, value, old, wanted, figures);
}

// ---- what launches do ------------------------------------------------------------------------------------------------
// The moments of the advantages of an env's rows, at its place in `found`.
__device__ inline void find_moments(Sums& sums, const Rows& data, int64_t found, int rows, int num_envs) {
  double of_lane[MOMENTS] = {};
  for (int row = env_id() * num_lanes() + lane(); row < rows; row += num_envs * num_lanes())
    add_moments(data, row, of_lane);
  put_moments(sums, of_lane, (double*)found + env_id() * MOMENTS);
}

// The sum over `parts` envs of `count` numbers of each, which lie `pitch` apart.
__device__ inline void add_up(Sums& sums, int64_t of_envs, int64_t found, int count, int pitch, int parts) {
  for (int i = 0; i < count; ++i) {
    double some = 0.0;
    for (int part = lane(); part < parts; part += num_lanes()) some += ((const double*)of_envs)[part * pitch + i];
    const double sum = sum_of_lanes(sums, some);
    if (lane() == 0) ((float*)found)[i] = (float)sum;
  }
}
