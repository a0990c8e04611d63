// Draws the discrete actions of one agent group from its policy's logits, and records the rollout's row that they belong
// to. Groups that act in a Box have sample_box.cu.
//
// NUM_AGENTS is the group's size here, AGENT_FIRST the number of its first agent in the env,
// AGENT_STRIDE the difference from one to the next. ACTION_AGENTS agents lie in
// the actions array, the group's from ACTION_FIRST on; the same for OBSERVATION_AGENTS and OBSERVATION_FIRST. Constants of
// choices are in choices.cuh; where the env forbids some, the kernels named _masked run.
//
// Arrays: logits (envs, NUM_AGENTS, LOGITS): unnormalised log-probabilities, head after head; head_sizes (NUM_HEADS,);
// observations (envs, OBSERVATION_AGENTS, OBSERVATION_SIZE), in the kernels named _bytes of bytes; actions (envs, ACTION_AGENTS, NUM_HEADS);
// action_mask (envs, WORLD_AGENTS, MASK_SIZE): false forbids a choice;
// rollout_observations, rollout_actions, rollout_log_probs, rollout_action_mask: (rows, envs, NUM_AGENTS, ...), row `row`
// is written. not_finite (envs,): set where an observation holds NaN or an infinity, for the host to look into.
#include "choices.cuh"

// The middle of one of 2^23 equal parts. With 0 among the numbers, the first action would be taken once in 2^24 draws,
// however unlikely it is.
__device__ float between_0_and_1(Random& random) {
  return ((float)(random.bits() >> 9) + 0.5f) * 1.1920928955078125e-7f;
}

constexpr float FORBIDDEN = -1e8f;  // the logit of a forbidden choice, as in policies/distributions.py

// The agent's logits: those of the policy, or with FORBIDDEN where its mask is false.
__device__ const float* allowed(const float* logits, const bool* mask, float* masked) {
  if (!mask) return logits;
  for (int i = 0; i < LOGITS; ++i) masked[i] = mask[i] ? logits[i] : FORBIDDEN;
  return masked;
}

// A choice with probability exp(logits[i]) / sum, by inverting the cumulated weights at a uniform number: the first
// whose cumulated weight is above the target. An action whose weight is 0 adds nothing, so it is never the first; and
// the target is below the sum, since the number is at most 1 - 2^-24. Where a logit is NaN the choice is 0.
__device__ int choose(const float* logits, int count, Random& random, float* log_prob) {
  float highest = logits[0];
  for (int i = 1; i < count; ++i) highest = logits[i] > highest ? logits[i] : highest;
  float cumulated[LOGITS];
  for (int i = 0; i < count; ++i) cumulated[i] = expf(logits[i] - highest);
  for (int i = 1; i < count; ++i) cumulated[i] += cumulated[i - 1];
  const float total = cumulated[count - 1], target = between_0_and_1(random) * total;
  int chosen = 0;
  for (int i = 0; i < count; ++i) chosen += cumulated[i] <= target;
  *log_prob = logits[chosen] - highest - logf(total);
  return chosen;
}

__device__ int most_likely(const float* logits, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i)
    if (logits[i] > logits[best]) best = i;
  return best;
}

// Draws, and records observation, action, log-probability and, where there is one, the mask.
template <class Number>
__device__ void draw_and_record(const float* logits, const bool* mask, const int* head_sizes,
                                const Number* observations, const int* row, int* actions, Number* rollout_observations,
                                int* rollout_actions, float* rollout_log_probs, bool* rollout_action_mask,
                                bool* not_finite, int num_envs) {
  const size_t recorded = recorded_index(row, num_envs);
  record_observation(observations, recorded, rollout_observations, not_finite);
  float masked[LOGITS];
  const float* mine = allowed(own_outputs(logits), mask, masked);
  if (mask)
    for (int i = 0; i < LOGITS; ++i) rollout_action_mask[recorded * LOGITS + i] = mask[i];
  Random random = random_numbers();
  float log_prob = 0.0f;
  for (int head = 0; head < NUM_HEADS; ++head) {
    float part;
    const int size = size_of(head_sizes, head), action = choose(mine, size, random, &part);
    actions[action_index() * NUM_HEADS + head] = action;
    rollout_actions[recorded * NUM_HEADS + head] = action;
    log_prob += part;
    mine += size;
  }
  rollout_log_probs[recorded] = log_prob;
}

// Draws, and records nothing.
__device__ void draw(const float* logits, const bool* mask, const int* head_sizes, int* actions) {
  float masked[LOGITS];
  const float* mine = allowed(own_outputs(logits), mask, masked);
  Random random = random_numbers();
  for (int head = 0; head < NUM_HEADS; ++head) {
    float log_prob;
    const int size = size_of(head_sizes, head);
    actions[action_index() * NUM_HEADS + head] = choose(mine, size, random, &log_prob);
    mine += size;
  }
}

// Takes the most likely action of each head.
__device__ void take_most_likely(const float* logits, const bool* mask, const int* head_sizes, int* actions) {
  float masked[LOGITS];
  const float* mine = allowed(own_outputs(logits), mask, masked);
  for (int head = 0; head < NUM_HEADS; ++head) {
    const int size = size_of(head_sizes, head);
    actions[action_index() * NUM_HEADS + head] = most_likely(mine, size);
    mine += size;
  }
}

extern "C" __global__ void sample(const float* logits, const int* head_sizes, const float* observations, const int* row,
                                  int* actions, float* rollout_observations, int* rollout_actions,
                                  float* rollout_log_probs, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(logits, nullptr, head_sizes, observations, row, actions, rollout_observations, rollout_actions,
                  rollout_log_probs, nullptr, not_finite, num_envs);
}

extern "C" __global__ void sample_masked(const float* logits, const bool* action_mask, const int* head_sizes,
                                         const float* observations, const int* row, int* actions,
                                         float* rollout_observations, int* rollout_actions, float* rollout_log_probs,
                                         bool* rollout_action_mask, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(logits, own_mask(action_mask), head_sizes, observations, row, actions, rollout_observations,
                  rollout_actions, rollout_log_probs, rollout_action_mask, not_finite, num_envs);
}

extern "C" __global__ void sample_bytes(const float* logits, const int* head_sizes, const unsigned char* observations, const int* row,
                                  int* actions, unsigned char* rollout_observations, int* rollout_actions,
                                  float* rollout_log_probs, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(logits, nullptr, head_sizes, observations, row, actions, rollout_observations, rollout_actions,
                  rollout_log_probs, nullptr, not_finite, num_envs);
}

extern "C" __global__ void sample_bytes_masked(const float* logits, const bool* action_mask, const int* head_sizes,
                                         const unsigned char* observations, const int* row, int* actions,
                                         unsigned char* rollout_observations, int* rollout_actions, float* rollout_log_probs,
                                         bool* rollout_action_mask, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(logits, own_mask(action_mask), head_sizes, observations, row, actions, rollout_observations,
                  rollout_actions, rollout_log_probs, rollout_action_mask, not_finite, num_envs);
}

extern "C" __global__ void act(const float* logits, const int* head_sizes, int* actions) {
  if (!is_active()) return;  // guard
  draw(logits, nullptr, head_sizes, actions);
}

extern "C" __global__ void act_masked(const float* logits, const bool* action_mask, const int* head_sizes,
                                      int* actions) {
  if (!is_active()) return;  // guard
  draw(logits, own_mask(action_mask), head_sizes, actions);
}

extern "C" __global__ void act_greedily(const float* logits, const int* head_sizes, int* actions) {
  if (!is_active()) return;  // guard
  take_most_likely(logits, nullptr, head_sizes, actions);
}

extern "C" __global__ void act_greedily_masked(const float* logits, const bool* action_mask, const int* head_sizes,
                                               int* actions) {
  if (!is_active()) return;  // guard
  take_most_likely(logits, own_mask(action_mask), head_sizes, actions);
}
