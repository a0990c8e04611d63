// Losses of actor and critic on one tile of samples, and their gradients at the networks' outputs.
//
// The formulas are those of trainers/algorithms/ppo.py and policies/distributions/distribution.py, which name their
// sources; gradients are their derivatives, equal to torch's also where a maximum has two equal sides.
#pragma once

#include "strip.hpp"

namespace fused {

constexpr float forbidden = -1e8f;         // logit of a choice that the action mask rules out
constexpr float normalisation_eps = 1e-8f;  // NORM_EPS of batch.py

enum Diagnostic { policy_loss, value_loss, entropy, approx_kl, old_approx_kl, clipfrac, num_diagnostics };

// What a gradient is taken of; fused/calls.py mirrors it.
struct Loss {
  int surrogate;  // 1: PPO's clipped surrogate; 0: advantage actor-critic, -log_prob * advantage
  int clip_value_loss;
  int normalise_advantages;
  float clip_coef, ent_coef, vf_coef, kl_coef;
};

// The rows that there are, (B, ...); fused/calls.py mirrors it.
struct Rows {
  Observed observations, critic_inputs;  // the latter null where the critic reads the former
  const int32_t* actions;    // (B, heads); null with actions in a Box
  const float* box_actions;  // (B, dimensions), as drawn; null with choices
  const float *log_probs, *advantages, *returns, *values;
  const float* importance;      // (B,), weights of normalised advantages; null for 1
  const uint8_t* action_masks;  // (B, choices), 0 for a forbidden choice; may be null
  const uint8_t* counts;        // (B,), 0 for a row that does not count; may be null
};

// What a minibatch's rows have in common.
struct Common {
  float mean, scale;  // normalised advantage: (advantage - mean) * scale
  float weight;       // of a row: 1 / count
  int64_t count;      // of the rows that count
};

// Sums over advantages of their differences from the first one, and of the squares of these: in double, eight of each,
// so that additions need not wait for one another.
struct Moments {
  static constexpr int at_once = 64;
  typedef double Eight __attribute__((vector_size(64)));
  typedef float EightFloats __attribute__((vector_size(32), aligned(4), may_alias));
  Eight totals{}, squares{};
  float first = 0.0f;
  int64_t count = 0;

  // Adds the first `held` of them; the others are overwritten.
  void add(float (&advantages)[at_once], int held) {
    if (count == 0) first = advantages[0];
    for (int i = held; i < at_once; i++) advantages[i] = first;
    for (int i = 0; i < at_once; i += 8) {
      const Eight difference = __builtin_convertvector(*(const EightFloats*)(advantages + i), Eight) - (double)first;
      totals += difference;
      squares += difference * difference;
    }
    count += held;
  }

  // Of their squared differences from their mean, the sum.
  double squared_differences() const {
    const double total = sum(totals), spare = sum(squares) - total * (total / count);
    return spare < 0 ? 0 : spare;
  }

  static double sum(Eight x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }
};

// Of the advantages that count, the mean and the unbiased standard deviation.
static Common common_of(const Rows& rows, const Places& places, const Loss& loss) {
  float some[Moments::at_once] = {};  // copied, so that the memory is asked for many of them at once
  const float* const advantages = rows.advantages;
  const uint8_t* const counts = rows.counts;
  const Places those = places;
  Moments moments;
  int held = 0;
  for (int64_t i = 0; i < those.count; i++)
    for (int64_t row = those.row(those.sequence(i), 0), t = 0; t < those.steps; row += those.step_stride, t++) {
      some[held] = advantages[row];
      held += !counts || counts[row];
      if (held < Moments::at_once) continue;
      moments.add(some, held);
      held = 0;
    }
  moments.add(some, held);
  const int64_t count = moments.count;
  Common common{0.0f, 1.0f, count ? 1.0f / count : 0.0f, count};
  if (!loss.normalise_advantages || !count) return common;
  const double variance = moments.squared_differences() / (count > 1 ? count - 1 : 1);
  common.mean = moments.first + Moments::sum(moments.totals) / count;
  common.scale = 1.0 / (__builtin_sqrt(variance) + normalisation_eps);
  return common;
}

constexpr int64_t no_such_row = -1;  // as a count

// The same, of which only the count means anything if some row is none of so many sequences'.
static Common checked_common_of(const Rows& rows, const Places& places, int64_t sequences, const Loss& loss) {
  for (int64_t i = 0; i < places.count; i++)
    if (places.index[i] < 0 || places.index[i] >= sequences) return {0.0f, 0.0f, 0.0f, no_such_row};
  return common_of(rows, places, loss);
}

// Arrays of `tile` numbers each, but for logits (choices, tile), their gradients, entropies and taken (heads, tile).
struct LossScratch {
  float *logits, *gradients, *entropies;
  int32_t* taken;  // which choice of each head an action is; -1 where no row counts
  float *log_ratio, *pull;
  float *weights, *log_probs, *advantages, *returns, *values;  // of the tile's rows; weight 0 where none counts
};

// A tile's rows of a batch.
struct TileRows {
  const int64_t* rows;
  const uint8_t* counts;  // 0 for what is no row, or one that does not count
  int samples;
};

// `value` where a row counts, and 0 elsewhere, whatever it is.
FUSED_INLINE Vector where_counted(Vector weight, Vector value) { return select(weight > 0.0f, value, (Vector){}); }

// Copies a column of a batch's for the tile's rows; zeros where none counts. The weights are taken before.
static void take_column(const float* column, const TileRows& those, const LossScratch& scratch, float* to) {
  const int64_t* const rows = those.rows;
  for (int s = 0; s < those.samples; s++) to[s] = column[rows[s] < 0 ? 0 : rows[s]];  // without a jump that depends on a row
  for (int s = 0; s < tile; s += lanes) store(to + s, where_counted(load(scratch.weights + s), load(to + s)));
}

static void take_weights(const TileRows& those, const Common& common, const LossScratch& scratch) {
  for (int s = 0; s < those.samples; s++) scratch.weights[s] = those.counts[s] ? common.weight : 0.0f;
  for (int s = those.samples; s < tile; s++) scratch.weights[s] = 0.0f;
}

// What the actor's loss reads of a batch, advantages normalised and weighted.
static void take_actors_columns(const Rows& rows, const TileRows& those, const Common& common,
                                const LossScratch& scratch) {
  take_weights(those, common, scratch);
  take_column(rows.log_probs, those, scratch, scratch.log_probs);
  take_column(rows.advantages, those, scratch, scratch.advantages);
  for (int s = 0; s < tile; s += lanes)
    store(scratch.advantages + s, (load(scratch.advantages + s) - common.mean) * common.scale);
  if (!rows.importance) return;
  take_column(rows.importance, those, scratch, scratch.pull);  // which is written later
  for (int s = 0; s < tile; s += lanes)
    store(scratch.advantages + s, load(scratch.advantages + s) * load(scratch.pull + s));
}

// What the critic's loss reads.
static void take_critics_columns(const Rows& rows, const TileRows& those, const Common& common,
                                 const LossScratch& scratch) {
  take_weights(those, common, scratch);
  take_column(rows.returns, those, scratch, scratch.returns);
  take_column(rows.values, those, scratch, scratch.values);
}

// Turns logits into log-probabilities, puts probabilities into `gradients`, and the head's entropy into `entropies`.
static void normalise_head(int choices, float* logits, float* probabilities, float* entropies) {
  for (int s = 0; s < tile; s += lanes) {
    Vector highest = load(logits + s);
    for (int a = 1; a < choices; a++) highest = larger(load(logits + a * tile + s), highest);
    Vector total = {}, head_entropy = {};
    for (int a = 0; a < choices; a++) {
      const Vector weight = exp(load(logits + a * tile + s) - highest);
      store(probabilities + a * tile + s, weight);
      total += weight;
    }
    const Vector log_total = log(total), inverse = 1.0f / total;
    for (int a = 0; a < choices; a++) {
      const Vector log_prob = (load(logits + a * tile + s) - highest) - log_total;
      const Vector probability = load(probabilities + a * tile + s) * inverse;
      store(logits + a * tile + s, log_prob);
      store(probabilities + a * tile + s, probability);
      head_entropy -= probability * log_prob;
    }
    store(entropies + s, head_entropy);
  }
}

// Copies which choices were taken; returns false if one does not exist.
static bool take_choices(const Rows& rows, const TileRows& those, const int* head_sizes, int num_heads,
                         const LossScratch& scratch) {
  for (int head = 0; head < num_heads; head++) {
    int32_t* taken = scratch.taken + head * tile;
    for (int s = 0; s < tile; s++) {
      taken[s] = -1;
      if (s >= those.samples || !those.counts[s]) continue;
      taken[s] = rows.actions[those.rows[s] * num_heads + head];
      if (taken[s] < 0 || taken[s] >= head_sizes[head]) return false;
    }
  }
  return true;
}

FUSED_INLINE Mask load_choices(const int32_t* from) { return (Mask)load((const float*)from); }

// Log-probabilities of the actions taken, less those at the time.
static void compare_actions(const int* head_sizes, int num_heads, const LossScratch& scratch) {
  for (int s = 0; s < tile; s += lanes) {
    Vector log_prob = {};
    for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++]) {
      const Mask taken = load_choices(scratch.taken + head * tile + s);
      for (int a = 0; a < head_sizes[head]; a++)
        log_prob += select(taken == a, load(scratch.logits + (first + a) * tile + s), (Vector){});
    }
    const Vector log_ratio = log_prob - load(scratch.log_probs + s);
    store(scratch.log_ratio + s, where_counted(load(scratch.weights + s), log_ratio));
  }
}

// The loss's derivative by the log-probability of each sample's action: its pull.
static void pull_of_surrogate(const Loss& loss, const LossScratch& scratch, double* sums) {
  const Vector low = all(1 - loss.clip_coef), high = all(1 + loss.clip_coef);
  Vector losses = {}, kl = {}, old_kl = {}, clipped_ones = {};
  for (int s = 0; s < tile; s += lanes) {
    const Vector weight = load(scratch.weights + s), log_ratio = load(scratch.log_ratio + s), ratio = exp(log_ratio);
    const Vector advantage = load(scratch.advantages + s);
    const Vector plain_loss = -advantage * ratio, clipped_loss = -advantage * clamp(ratio, low, high);
    const Mask is_clipped = plain_loss < clipped_loss, outside = (ratio < low) | (ratio > high);
    // Outside the clipped side has no slope. Times the ratio, so that an infinite one gives NaN, as it does with torch.
    const Vector slope = select(is_clipped & outside, (Vector){}, -advantage);
    Vector pull = slope * ratio * weight;
    if (loss.kl_coef > 0.0f) pull += loss.kl_coef * (ratio - 1.0f) * weight;
    store(scratch.pull + s, where_counted(weight, pull));
    losses += where_counted(weight, select(is_clipped, clipped_loss, plain_loss));
    kl += where_counted(weight, (ratio - 1.0f) - log_ratio);
    old_kl -= where_counted(weight, log_ratio);
    const Vector away = ratio - 1.0f;
    const Mask is_far = (away > loss.clip_coef) | (-away > loss.clip_coef);
    clipped_ones += where_counted(weight, select(is_far, all(1.0f), (Vector){}));
  }
  sums[policy_loss] += sum(losses);
  sums[approx_kl] += sum(kl);
  sums[old_approx_kl] += sum(old_kl);
  sums[clipfrac] += sum(clipped_ones);
}

static void pull_of_advantage(const LossScratch& scratch, double* sums) {
  Vector losses = {};
  for (int s = 0; s < tile; s += lanes) {
    const Vector weight = load(scratch.weights + s), advantage = load(scratch.advantages + s);
    store(scratch.pull + s, where_counted(weight, -advantage * weight));
    losses -= where_counted(weight, advantage * (load(scratch.log_ratio + s) + load(scratch.log_probs + s)));
  }
  sums[policy_loss] += sum(losses);
}

static void pull_of(const Loss& loss, const LossScratch& scratch, double* sums) {
  loss.surrogate ? pull_of_surrogate(loss, scratch, sums) : pull_of_advantage(scratch, sums);
}

static void forbid(const Rows& rows, const TileRows& those, int choices, float value, const LossScratch& scratch,
                   float* of_choices) {
  if (!rows.action_masks) return;
  for (int s = 0; s < those.samples; s++) {
    if (scratch.weights[s] == 0.0f) continue;
    const uint8_t* allowed = rows.action_masks + those.rows[s] * choices;
    for (int a = 0; a < choices; a++)
      if (!allowed[a]) of_choices[a * tile + s] = value;
  }
}

// From probabilities p to the gradient at the logits: of -ent_coef * entropy it is ent_coef * p (log p + entropy), of
// the action's log-probability 1 - p for its own logit and -p for the others.
static void gradient_at_logits(int choices, float ent_coef, const float* log_probs, const float* entropies,
                               const int32_t* taken, const LossScratch& scratch, float* gradients) {
  for (int s = 0; s < tile; s += lanes) {
    const Vector weight = load(scratch.weights + s), pull = load(scratch.pull + s), entropy = load(entropies + s);
    const Mask choice = load_choices(taken + s);
    for (int a = 0; a < choices; a++) {
      const Vector bonus = ent_coef * weight * (load(log_probs + a * tile + s) + entropy);
      const Vector own = select(choice == a, pull, (Vector){});
      store(gradients + a * tile + s, where_counted(weight, load(gradients + a * tile + s) * (bonus - pull) + own));
    }
  }
}

static void gradient_of_head(int head, int choices, int first, float ent_coef, const LossScratch& scratch,
                             double* sums) {
  const float* entropies = scratch.entropies + head * tile;
  Vector total = {};
  for (int s = 0; s < tile; s += lanes) total += where_counted(load(scratch.weights + s), load(entropies + s));
  sums[entropy] += sum(total);
  gradient_at_logits(choices, ent_coef, scratch.logits + first * tile, entropies, scratch.taken + head * tile, scratch,
                     scratch.gradients + first * tile);
}

// From logits to scratch.gradients, 0 where no row counts; returns false if an action does not exist.
static bool actor_loss(const Rows& rows, const TileRows& those, const int* head_sizes, int num_heads, const Loss& loss,
                       const LossScratch& scratch, double* sums) {
  int choices = 0;
  for (int head = 0; head < num_heads; head++) choices += head_sizes[head];
  forbid(rows, those, choices, forbidden, scratch, scratch.logits);
  for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++])
    normalise_head(head_sizes[head], scratch.logits + first * tile, scratch.gradients + first * tile,
                   scratch.entropies + head * tile);
  if (!take_choices(rows, those, head_sizes, num_heads, scratch)) return false;
  compare_actions(head_sizes, num_heads, scratch);
  pull_of(loss, scratch, sums);
  for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++])
    gradient_of_head(head, head_sizes[head], first, loss.ent_coef, scratch, sums);
  forbid(rows, those, choices, 0.0f, scratch, scratch.gradients);
  return true;
}

// Half the squared error; clipped, the larger one of the plain and that of a value near the old one.
static void critic_loss(const Loss& loss, const LossScratch& scratch, const float* values, float* gradients,
                        double* sums) {
  const Vector limit = all(loss.clip_coef);
  Vector total = {};
  for (int s = 0; s < tile; s += lanes) {
    const Vector weight = load(scratch.weights + s), value = load(values + s), right = load(scratch.returns + s);
    const Vector error = value - right;
    Vector squared = error * error, slope = error;
    if (loss.clip_value_loss) {
      const Vector old = load(scratch.values + s), moved = value - old;
      const Mask outside = (moved < -limit) | (moved > limit);
      const Vector clipped_error = old + clamp(moved, -limit, limit) - right;
      const Vector clipped_squared = clipped_error * clipped_error;
      const Vector clipped_slope = select(outside, (Vector){}, clipped_error);
      slope = 0.5f * (error + clipped_slope);  // where both are equal, or NaN
      slope = select(squared > clipped_squared, error, slope);
      slope = select(squared < clipped_squared, clipped_slope, slope);
      squared = select(clipped_squared <= squared, squared, clipped_squared);  // also if that is NaN
    }
    store(gradients + s, where_counted(weight, loss.vf_coef * weight * slope));
    total += where_counted(weight, 0.5f * squared);
  }
  sums[value_loss] += sum(total);
}

}  // namespace fused
