// Draws the actions of one agent group that acts in a Box from normal distributions, and records the rollout's row that
// they belong to. The variant of sample.cu, whose constants it shares; ACTION_SIZE is the number of the Box's dimensions.
//
// Arrays: means (envs, NUM_AGENTS, ACTION_SIZE), log_stds (ACTION_SIZE,): of what is drawn. box (4, ACTION_SIZE): centre,
// scale, low and high: an action is centre + scale * drawn, cut off at low and high. The others as in sample.cu;
// rollout_actions holds what was drawn.
#include "box.cuh"

__device__ const float* own_means(const float* means) { return means + (size_t)agent_index() * ACTION_SIZE; }

__device__ float* own_actions(float* actions) { return actions + action_index() * ACTION_SIZE; }

// Draws, and records observation, what was drawn and its log-density.
template <class Number>
__device__ void draw_and_record(const float* means, const float* log_stds, const float* box, const Number* observations,
                                const int* row, float* actions, Number* rollout_observations, float* rollout_actions,
                                float* rollout_log_probs, bool* not_finite, int num_envs) {
  const size_t recorded = recorded_index(row, num_envs);
  record_observation(observations, recorded, rollout_observations, not_finite);
  if (!acts()) return;
  float* drawn = rollout_actions + recorded * ACTION_SIZE;
  rollout_log_probs[recorded] = draw_normal<ACTION_SIZE>(own_means(means), log_stds, random_numbers(), drawn);
  take_scaled<ACTION_SIZE>(drawn, box, own_actions(actions));
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
  if (!is_active() || !acts()) return;  // guard
  float drawn[ACTION_SIZE];
  draw_normal<ACTION_SIZE>(own_means(means), log_stds, random_numbers(), drawn);
  take_scaled<ACTION_SIZE>(drawn, box, own_actions(actions));
}

// Takes the most likely action: the mean.
extern "C" __global__ void act_greedily(const float* means, const float* box, float* actions) {
  if (!is_active() || !acts()) return;  // guard
  take_scaled<ACTION_SIZE>(own_means(means), box, own_actions(actions));
}

// Draws without a policy.
extern "C" __global__ void act_at_random(const float* box, float* actions) {
  if (!is_active() || !acts()) return;  // guard
  Random random = random_numbers();
  draw_in_box(box, random, actions);
}
