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

__device__ int* own_actions(int* actions) { return actions + action_index() * NUM_HEADS; }

// The agent's logits: those of the policy, or with FORBIDDEN where its mask is false.
__device__ const float* allowed(const float* logits, const bool* mask, float* masked) {
  if (!mask) return logits;
  for (int i = 0; i < LOGITS; ++i) masked[i] = mask[i] ? logits[i] : FORBIDDEN;
  return masked;
}

// Draws, and records observation, action, log-probability and, where there is one, the mask.
template <class Number>
__device__ void draw_and_record(const float* logits, const bool* mask, const int* head_sizes,
                                const Number* observations, const int* row, int* actions, Number* rollout_observations,
                                int* rollout_actions, float* rollout_log_probs, bool* rollout_action_mask,
                                bool* not_finite, int num_envs) {
  const size_t recorded = recorded_index(row, num_envs);
  record_observation(observations, recorded, rollout_observations, not_finite);
  if (!acts()) return;
  float masked[LOGITS];
  const float* mine = allowed(own_outputs(logits), mask, masked);
  if (mask)
    for (int i = 0; i < LOGITS; ++i) rollout_action_mask[recorded * LOGITS + i] = mask[i];
  rollout_log_probs[recorded] = choose_all<OwnHeads>(mine, head_sizes, random_numbers(), own_actions(actions),
                                                     rollout_actions + recorded * NUM_HEADS);
}

// Draws, and records nothing.
__device__ void draw(const float* logits, const bool* mask, const int* head_sizes, int* actions) {
  float masked[LOGITS];
  const float* mine = allowed(own_outputs(logits), mask, masked);
  choose_all<OwnHeads>(mine, head_sizes, random_numbers(), own_actions(actions), nullptr);
}

// Takes the most likely action of each head.
__device__ void take_likeliest(const float* logits, const bool* mask, const int* head_sizes, int* actions) {
  float masked[LOGITS];
  take_most_likely<OwnHeads>(allowed(own_outputs(logits), mask, masked), head_sizes, own_actions(actions));
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
  if (!is_active() || !acts()) return;  // guard
  draw(logits, nullptr, head_sizes, actions);
}

extern "C" __global__ void act_masked(const float* logits, const bool* action_mask, const int* head_sizes,
                                      int* actions) {
  if (!is_active() || !acts()) return;  // guard
  draw(logits, own_mask(action_mask), head_sizes, actions);
}

extern "C" __global__ void act_greedily(const float* logits, const int* head_sizes, int* actions) {
  if (!is_active() || !acts()) return;  // guard
  take_likeliest(logits, nullptr, head_sizes, actions);
}

extern "C" __global__ void act_greedily_masked(const float* logits, const bool* action_mask, const int* head_sizes,
                                               int* actions) {
  if (!is_active() || !acts()) return;  // guard
  take_likeliest(logits, own_mask(action_mask), head_sizes, actions);
}
