// The loss of a row of choices, with its gradient at the logits; row_loss.cuh has what does not depend on actions.
#pragma once

#include "drawing.cuh"
#include "row_loss.cuh"

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

// From a row's logits to their gradient. Own: the policy's Heads.
template <class Own, class Numbers>
__device__ void differentiate_choices(const Rows& data, const Loss& loss, const Common& common, const int* head_sizes,
                                      const Factors& now, const Numbers& logits, int row, double* figures) {
  const bool* allowed = data.action_masks ? (const bool*)data.action_masks + (size_t)row * Own::choices : nullptr;
  const int* actions = (const int*)data.actions + (size_t)row * Own::count;
  for (int i = 0; allowed && i < Own::choices; ++i) logits[i] = allowed[i] ? logits[i] : FORBIDDEN;
  float entropies[Own::count], log_prob = 0.0f, entropy = 0.0f;
  Numbers own = logits;
  for (int head = 0; head < Own::count; own = own.behind(Own::size(head_sizes, head++))) {
    entropies[head] = normalise(own, Own::size(head_sizes, head));
    entropy += entropies[head];
    log_prob += own[actions[head]];
  }
  figures[ENTROPY] += (double)entropy;
  const float pull = pull_of_row(data, loss, common, now, log_prob, row, figures);
  own = logits;
  for (int head = 0; head < Own::count; own = own.behind(Own::size(head_sizes, head++)))
    differentiate(own, Own::size(head_sizes, head), actions[head], pull, now.entropy * common.weight, entropies[head]);
  for (int i = 0; allowed && i < Own::choices; ++i) logits[i] = allowed[i] ? logits[i] : 0.0f;
}
