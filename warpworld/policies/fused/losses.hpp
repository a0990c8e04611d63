// Losses of actor and critic on one tile of samples, and their gradients at the networks' outputs.
//
// The formulas are those of trainers/algorithms/ppo.py and policies/distributions.py, which say where they are from; gradients are
// their derivatives, equal to torch's also where a maximum has two equal sides.
#pragma once

#include "network.hpp"

namespace fused {

constexpr float forbidden = -1e8f;         // logit of a choice that the action mask rules out
constexpr float normalisation_eps = 1e-8f;  // NORM_EPS of batch.py

enum Diagnostic { policy_loss, value_loss, entropy, approx_kl, old_approx_kl, clipfrac, num_diagnostics };

// What a gradient is taken of; fused/networks.py mirrors it.
struct Loss {
  int surrogate;       // 1: PPO's clipped surrogate; 0: advantage actor-critic, -log_prob * advantage
  int clip_value_loss;
  int normalise_advantages;
  float clip_coef, ent_coef, vf_coef;
};

// The rows that there are, and which of them are meant; fused/networks.py mirrors it.
struct Rows {
  const float* observations;
  const int32_t* actions;           // (B, heads); null with actions in a Box
  const float* box_actions;         // (B, dimensions), as drawn; null with choices
  const float *log_probs, *advantages, *returns, *values;
  const uint8_t* action_masks;      // (B, choices), 0 for a forbidden choice; may be null
  const int64_t* index;             // (count,)
  int64_t count;
};

// What a minibatch's rows have in common.
struct Common {
  float mean, scale;  // normalised advantage: (advantage - mean) * scale
  float weight;       // of a row: 1 / count
};

// Mean and unbiased standard deviation, in double, of differences from the first advantage: in four sums each, so that
// additions need not wait for one another.
static Common common_of(const Rows& rows, const Loss& loss) {
  Common common{0.0f, 1.0f, 1.0f / rows.count};
  if (!loss.normalise_advantages) return common;
  const double first = rows.advantages[rows.index[0]];
  double totals[4] = {}, squares[4] = {};
  for (int64_t i = 0; i < rows.count; i++) {
    const double difference = rows.advantages[rows.index[i]] - first;
    totals[i & 3] += difference;
    squares[i & 3] += difference * difference;
  }
  const double total = (totals[0] + totals[1]) + (totals[2] + totals[3]);
  const double square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
  const double spare = square - total * (total / rows.count);
  const double variance = (spare < 0 ? 0 : spare) / (rows.count > 1 ? rows.count - 1 : 1);
  common.mean = first + total / rows.count;
  common.scale = 1.0 / (__builtin_sqrt(variance) + normalisation_eps);
  return common;
}

// Arrays of `tile` floats each, but for logits (choices, tile), their gradients, and entropies (heads, tile).
struct LossScratch {
  float *logits, *gradients, *entropies;
  float *log_ratio, *ratio, *pull;
};

// Turns logits into log-probabilities, puts probabilities into `gradients`, and the head's entropy into `entropies`.
static void normalise_head(int choices, int samples, float* logits, float* probabilities, float* entropies) {
  for (int s = 0; s < samples; s += lanes) {
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

// Log-probabilities of the actions taken, less those at the time; returns false if there is no such action.
static bool take_actions(const Rows& rows, const int64_t* index, int samples, const int* head_sizes, int num_heads,
                         const float* log_probs, float* log_ratio) {
  for (int s = 0; s < samples; s++) {
    const int32_t* action = rows.actions + index[s] * num_heads;
    float taken = 0.0f;
    for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++]) {
      if (action[head] < 0 || action[head] >= head_sizes[head]) return false;
      taken += log_probs[(first + action[head]) * tile + s];
    }
    log_ratio[s] = taken - rows.log_probs[index[s]];
  }
  return true;
}

// The loss's derivative by the log-probability of each sample's action: its pull.
static void pull_of_surrogate(const Rows& rows, const int64_t* index, int samples, const Loss& loss,
                              const Common& common, const LossScratch& scratch, double* sums) {
  for (int s = 0; s < samples; s += lanes) store(scratch.ratio + s, exp(load(scratch.log_ratio + s)));
  for (int s = 0; s < samples; s++) {
    const float advantage = (rows.advantages[index[s]] - common.mean) * common.scale, ratio = scratch.ratio[s];
    const float low = 1 - loss.clip_coef, high = 1 + loss.clip_coef;
    const float clipped = ratio < low ? low : ratio > high ? high : ratio;
    const float plain_loss = -advantage * ratio, clipped_loss = -advantage * clipped;
    const bool outside = ratio < low || ratio > high;  // there the clipped side has no slope
    // Times the ratio, so that an infinite one gives NaN, as it does with torch.
    const float slope = plain_loss < clipped_loss && outside ? 0.0f : -advantage;
    scratch.pull[s] = slope * ratio * common.weight;
    sums[policy_loss] += plain_loss < clipped_loss ? clipped_loss : plain_loss;
    sums[approx_kl] += (ratio - 1.0f) - scratch.log_ratio[s];
    sums[old_approx_kl] -= scratch.log_ratio[s];
    const float away = ratio - 1.0f;
    sums[clipfrac] += (away < 0 ? -away : away) > loss.clip_coef;
  }
}

static void pull_of_advantage(const Rows& rows, const int64_t* index, int samples, const Common& common,
                              const LossScratch& scratch, double* sums) {
  for (int s = 0; s < samples; s++) {
    const float advantage = (rows.advantages[index[s]] - common.mean) * common.scale;
    scratch.pull[s] = -advantage * common.weight;
    sums[policy_loss] -= advantage * (scratch.log_ratio[s] + rows.log_probs[index[s]]);
  }
}

static void forbid(const Rows& rows, const int64_t* index, int samples, int choices, float value, float* of_choices) {
  if (!rows.action_masks) return;
  for (int s = 0; s < samples; s++) {
    const uint8_t* allowed = rows.action_masks + index[s] * choices;
    for (int a = 0; a < choices; a++)
      if (!allowed[a]) of_choices[a * tile + s] = value;
  }
}

// From probabilities p to the gradient at the logits: of -ent_coef * entropy it is ent_coef * p (log p + entropy), of
// the action's log-probability 1 - p for its own logit and -p for the others.
static void gradient_at_logits(int choices, int samples, float ent_weight, const float* log_probs,
                               const float* entropies, const float* pull, float* gradients) {
  for (int a = 0; a < choices; a++)
    for (int s = 0; s < samples; s += lanes) {
      const Vector bonus = ent_weight * (load(log_probs + a * tile + s) + load(entropies + s));
      store(gradients + a * tile + s, load(gradients + a * tile + s) * (bonus - load(pull + s)));
    }
}

// From logits to scratch.gradients, 0 for samples that are none; returns false if an action does not exist.
static bool actor_loss(const Rows& rows, const int64_t* index, int samples, const int* head_sizes, int num_heads,
                       const Loss& loss, const Common& common, const LossScratch& scratch, double* sums) {
  int choices = 0;
  for (int head = 0; head < num_heads; head++) choices += head_sizes[head];
  forbid(rows, index, samples, choices, forbidden, scratch.logits);
  for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++])
    normalise_head(head_sizes[head], samples, scratch.logits + first * tile, scratch.gradients + first * tile,
                   scratch.entropies + head * tile);
  if (!take_actions(rows, index, samples, head_sizes, num_heads, scratch.logits, scratch.log_ratio)) return false;
  if (loss.surrogate)
    pull_of_surrogate(rows, index, samples, loss, common, scratch, sums);
  else
    pull_of_advantage(rows, index, samples, common, scratch, sums);

  for (int head = 0, first = 0; head < num_heads; first += head_sizes[head++]) {
    const float* entropies = scratch.entropies + head * tile;
    for (int s = 0; s < samples; s++) sums[entropy] += entropies[s];
    gradient_at_logits(head_sizes[head], samples, loss.ent_coef * common.weight, scratch.logits + first * tile,
                       entropies, scratch.pull, scratch.gradients + first * tile);
    for (int s = 0; s < samples; s++)
      scratch.gradients[(first + rows.actions[index[s] * num_heads + head]) * tile + s] += scratch.pull[s];
  }
  forbid(rows, index, samples, choices, 0.0f, scratch.gradients);
  for (int a = 0; a < choices; a++)
    for (int s = samples; s < tile; s++) scratch.gradients[a * tile + s] = 0.0f;
  return true;
}

// Half the squared error; clipped, the larger one of the plain and that of a value near the old one.
static void critic_loss(const Rows& rows, const int64_t* index, int samples, const Loss& loss, const Common& common,
                        const float* values, float* gradients, double* sums) {
  const float weight = loss.vf_coef * common.weight, limit = loss.clip_coef;
  for (int s = 0; s < samples; s++) {
    const float error = values[s] - rows.returns[index[s]];
    float squared = error * error, slope = error;
    if (loss.clip_value_loss) {
      const float old = rows.values[index[s]], moved = values[s] - old;
      const bool outside = moved < -limit || moved > limit;
      const float clipped = old + (moved < -limit ? -limit : moved > limit ? limit : moved);
      const float clipped_error = clipped - rows.returns[index[s]], clipped_squared = clipped_error * clipped_error;
      const float clipped_slope = outside ? 0.0f : clipped_error;
      slope = 0.5f * (error + clipped_slope);  // where both are equal, or NaN
      if (squared > clipped_squared) slope = error;
      if (squared < clipped_squared) slope = clipped_slope;
      if (!(clipped_squared <= squared)) squared = clipped_squared;  // also if it is NaN
    }
    gradients[s] = weight * slope;
    sums[value_loss] += 0.5f * squared;
  }
  for (int s = samples; s < tile; s++) gradients[s] = 0.0f;
}

}  // namespace fused
