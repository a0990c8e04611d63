// Draws the hybrid actions of one agent group, choices and numbers of Boxes together, and records the rollout's row that
// they belong to. The variant of sample.cu and sample_box.cu for actions of several parts, each of which has an array of
// its own in the store.
//
// An agent has NUM_HEADS choices, of LOGITS together, and ACTION_SIZE numbers; constants of choices are in choices.cuh.
// With IS_MASKED the env forbids some choices.
//
// Arrays: outputs (envs, NUM_AGENTS, LOGITS + ACTION_SIZE): logits of all heads, then the means of all Boxes; log_stds
// (envs, ACTION_SIZE): logarithms of the deviations of who plays in an env, or infinity where actions are drawn without
// a policy; box (4, ACTION_SIZE) as in box.cuh; `places` is the address of a Place for each choice, then for each number.
// rollout_actions (rows, envs, NUM_AGENTS, NUM_HEADS + ACTION_SIZE): the choices as floats, then the numbers as drawn,
// before they are scaled. action_mask, rollout_action_mask and the others as in sample.cu; without IS_MASKED the two are
// placeholders, which are never read or written.
#include "choices.cuh"

constexpr int OUTPUTS = LOGITS + ACTION_SIZE, ENTRIES = NUM_HEADS + ACTION_SIZE;
constexpr int MOST_LOGITS = LOGITS > 0 ? LOGITS : 1;

// Where one entry of an action lies in the store.
struct Place {
  uint64_t address;  // of that of the first agent of the first env, 4 bytes
  uint64_t stride;   // bytes from an agent to the next
};

// The agent's outputs, with FORBIDDEN for the logits of choices that it may not take.
struct Outputs {
  float logits[MOST_LOGITS];
  const float* means;

  __device__ Outputs(const float* outputs, const bool* action_mask) {
    const float* own = outputs + (size_t)agent_index() * OUTPUTS;
    const bool* mask = IS_MASKED ? own_mask(action_mask) : nullptr;
    for (int i = 0; i < LOGITS; ++i) logits[i] = !IS_MASKED || mask[i] ? own[i] : FORBIDDEN;
    means = own + LOGITS;
  }
};

// Draws one number into `drawn`. Returns the logarithm of its density; 0 if it is drawn without a policy, as
// draw_at_random does.
__device__ float draw_number(float mean, float log_std, const float* box, int i, Random& random, float* drawn) {
  if (log_std == INFINITY) {
    const bool bounded = box[2 * ACTION_SIZE + i] > -INFINITY && box[3 * ACTION_SIZE + i] < INFINITY;
    *drawn = bounded ? random.uniform(-1.0f, 1.0f) : random.normal();
    return 0.0f;
  }
  const float normal = random.normal();
  *drawn = mean + expf(log_std) * normal;
  return -0.5f * normal * normal - log_std - HALF_LOG_2_PI;
}

// Draws choices, then numbers, into `drawn`. Returns the logarithm of their probability and density.
__device__ float draw(const Outputs& outputs, const int* head_sizes, const float* log_stds, const float* box,
                      float* drawn) {
  Random random = random_numbers();
  float log_prob = 0.0f;
  const float* logits = outputs.logits;
  for (int head = 0; head < NUM_HEADS; ++head) {
    float part;
    const int size = size_of(head_sizes, head);
    drawn[head] = (float)choose<MOST_LOGITS>(logits, size, random, &part);
    log_prob += part;
    logits += size;
  }
  const float* own = log_stds + (size_t)env_id() * ACTION_SIZE;
  for (int i = 0; i < ACTION_SIZE; ++i)
    log_prob += draw_number(outputs.means[i], own[i], box, i, random, drawn + NUM_HEADS + i);
  return log_prob;
}

// Puts an action into the arrays of its parts, numbers scaled to their Boxes and cut off at the bounds.
__device__ void take(const float* drawn, const float* box, uint64_t places) {
  const Place* place = (const Place*)places;
  for (int i = 0; i < ENTRIES; ++i) {
    const uint64_t address = place[i].address + action_index() * place[i].stride;
    if (i < NUM_HEADS)
      *(int*)address = (int)drawn[i];
    else
      *(float*)address = scaled_to_box<ACTION_SIZE>(box, i - NUM_HEADS, drawn[i]);
  }
}

// Draws, and records observation, what was drawn, its log-probability and, where there is one, the mask.
template <class Number>
__device__ void draw_and_record(const float* outputs, const bool* action_mask, const int* head_sizes,
                                const float* log_stds, const float* box, const Number* observations, const int* row,
                                uint64_t places, Number* rollout_observations, float* rollout_actions,
                                float* rollout_log_probs, bool* rollout_action_mask, bool* not_finite, int num_envs) {
  const size_t recorded = recorded_index(row, num_envs);
  record_observation(observations, recorded, rollout_observations, not_finite);
  if (!acts()) return;
  float* drawn = rollout_actions + recorded * ENTRIES;
  rollout_log_probs[recorded] = draw(Outputs(outputs, action_mask), head_sizes, log_stds, box, drawn);
  take(drawn, box, places);
  if (!IS_MASKED) return;
  const bool* mask = own_mask(action_mask);
  for (int i = 0; i < LOGITS; ++i) rollout_action_mask[recorded * LOGITS + i] = mask[i];
}

extern "C" __global__ void sample(const float* outputs, const bool* action_mask, const int* head_sizes,
                                  const float* log_stds, const float* box, const float* observations, const int* row,
                                  uint64_t places, float* rollout_observations, float* rollout_actions,
                                  float* rollout_log_probs, bool* rollout_action_mask, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(outputs, action_mask, head_sizes, log_stds, box, observations, row, places, rollout_observations,
                  rollout_actions, rollout_log_probs, rollout_action_mask, not_finite, num_envs);
}

extern "C" __global__ void sample_bytes(const float* outputs, const bool* action_mask, const int* head_sizes,
                                        const float* log_stds, const float* box, const unsigned char* observations,
                                        const int* row, uint64_t places, unsigned char* rollout_observations,
                                        float* rollout_actions, float* rollout_log_probs, bool* rollout_action_mask,
                                        bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  draw_and_record(outputs, action_mask, head_sizes, log_stds, box, observations, row, places, rollout_observations,
                  rollout_actions, rollout_log_probs, rollout_action_mask, not_finite, num_envs);
}

// Draws, and records nothing.
extern "C" __global__ void act(const float* outputs, const bool* action_mask, const int* head_sizes,
                               const float* log_stds, const float* box, uint64_t places) {
  if (!is_active() || !acts()) return;  // guard
  float drawn[ENTRIES];
  draw(Outputs(outputs, action_mask), head_sizes, log_stds, box, drawn);
  take(drawn, box, places);
}

// Takes the most likely choice of each head, and the means.
extern "C" __global__ void act_greedily(const float* outputs, const bool* action_mask, const int* head_sizes,
                                        const float* box, uint64_t places) {
  if (!is_active() || !acts()) return;  // guard
  const Outputs own(outputs, action_mask);
  float taken[ENTRIES];
  const float* logits = own.logits;
  for (int head = 0; head < NUM_HEADS; ++head) {
    const int size = size_of(head_sizes, head);
    taken[head] = (float)most_likely(logits, size);
    logits += size;
  }
  for (int i = 0; i < ACTION_SIZE; ++i) taken[NUM_HEADS + i] = own.means[i];
  take(taken, box, places);
}
