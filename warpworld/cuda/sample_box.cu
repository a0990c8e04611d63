// Draws the actions of one agent group that acts in a Box from normal distributions, and records the rollout's row that
// they belong to. The twin of sample.cu, whose constants it shares; ACTION_SIZE is the number of the Box's dimensions.
//
// Arrays: means (envs, NUM_AGENTS, ACTION_SIZE), log_stds (ACTION_SIZE,): of what is drawn. box (4, ACTION_SIZE): centre,
// scale, low and high: an action is centre + scale * drawn, cut off at low and high. The others as in sample.cu;
// rollout_actions holds what was drawn.
#include "box.cuh"

constexpr float HALF_LOG_2_PI = 0.91893853320467274f;

__device__ const float* own_means(const float* means) { return means + (size_t)agent_index() * ACTION_SIZE; }

// Draws, and records observation, what was drawn and its log-density.
template <class Number>
__device__ void draw_and_record(const float* means, const float* log_stds, const float* box, const Number* observations,
                                const int* row, float* actions, Number* rollout_observations, float* rollout_actions,
                                float* rollout_log_probs, bool* not_finite, int num_envs) {
  const size_t recorded = recorded_index(row, num_envs);
  record_observation(observations, recorded, rollout_observations, not_finite);
  Random random = random_numbers();
  float log_prob = 0.0f;
  for (int i = 0; i < ACTION_SIZE; ++i) {
    const float normal = random.normal(), drawn = own_means(means)[i] + expf(log_stds[i]) * normal;
    rollout_actions[recorded * ACTION_SIZE + i] = drawn;
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, drawn);
    log_prob -= 0.5f * normal * normal + log_stds[i] + HALF_LOG_2_PI;
  }
  rollout_log_probs[recorded] = log_prob;
}

extern "C" __global__ void sample(const float* means, const float* log_stds, const float* box,
                                  const float* observations, const int* row, float* actions,
                                  float* rollout_observations, float* rollout_actions, float* rollout_log_probs,
                                  bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(means, log_stds, box, observations, row, actions, rollout_observations, rollout_actions,
                  rollout_log_probs, not_finite, num_envs);
}

extern "C" __global__ void sample_bytes(const float* means, const float* log_stds, const float* box,
                                        const unsigned char* observations, const int* row, float* actions,
                                        unsigned char* rollout_observations, float* rollout_actions,
                                        float* rollout_log_probs, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(means, log_stds, box, observations, row, actions, rollout_observations, rollout_actions,
                  rollout_log_probs, not_finite, num_envs);
}

// Draws, and records nothing.
extern "C" __global__ void act(const float* means, const float* log_stds, const float* box, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  for (int i = 0; i < ACTION_SIZE; ++i) {
    const float drawn = own_means(means)[i] + expf(log_stds[i]) * random.normal();
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, drawn);
  }
}

// Takes the most likely action: the mean.
extern "C" __global__ void act_greedily(const float* means, const float* box, float* actions) {
  if (!is_active()) return;  // guard
  for (int i = 0; i < ACTION_SIZE; ++i)
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, own_means(means)[i]);
}

// Draws without a policy.
extern "C" __global__ void act_at_random(const float* box, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  draw_in_box(box, random, actions);
}
