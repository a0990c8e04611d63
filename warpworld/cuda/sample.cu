// Draws the actions of one agent group from its policy's logits, and records the row of the rollout that they belong to.
//
// NUM_AGENTS is the group's size here, and AGENT_FIRST the place of its first agent in the env. ACTION_AGENTS agents lie in
// the actions array, the group's from ACTION_FIRST on; the same for OBSERVATION_AGENTS and OBSERVATION_FIRST.
//
// Arrays: logits (envs, NUM_AGENTS, LOGITS): unnormalised log-probabilities, head after head; head_sizes (NUM_HEADS,);
// observations (envs, OBSERVATION_AGENTS, OBSERVATION_SIZE); actions (envs, ACTION_AGENTS, NUM_HEADS);
// rollout_observations, rollout_actions, rollout_log_probs: (rows, envs, NUM_AGENTS, ...), row `row` is written.
#include <warpworld.cuh>

// A choice with probability exp(logits[i]) / sum, by inverting the cumulated weights at `uniform`. An action of weight 0 is
// never chosen, whatever the rounding of the sum.
__device__ int choose(const float* logits, int count, float uniform, float* log_prob) {
  float highest = logits[0];
  for (int i = 1; i < count; ++i) highest = fmaxf(highest, logits[i]);
  float weights[LOGITS], total = 0.0f;
  for (int i = 0; i < count; ++i) {
    weights[i] = expf(logits[i] - highest);
    total += weights[i];
  }
  const float target = uniform * total;
  float cumulated = 0.0f;
  int chosen = 0;
  for (int i = 0; i < count; ++i) {
    if (weights[i] > 0.0f) {
      chosen = i;
      cumulated += weights[i];
      if (cumulated > target) break;
    }
  }
  *log_prob = logits[chosen] - highest - logf(total);
  return chosen;
}

__device__ int most_likely(const float* logits, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i)
    if (logits[i] > logits[best]) best = i;
  return best;
}

__device__ size_t action_index() { return (size_t)env_id() * ACTION_AGENTS + ACTION_FIRST + agent_id(); }

__device__ Random random_numbers() { return Random::of(AGENT_FIRST + agent_id()); }

// Draws, and records observation, action and log-probability.
extern "C" __global__ void sample(const float* logits, const int* head_sizes, const float* observations, const int* row,
                                  int* actions, float* rollout_observations, int* rollout_actions,
                                  float* rollout_log_probs, int num_envs) {
  if (!is_active()) return;  // guard
  const size_t recorded = (size_t)row[0] * num_envs * NUM_AGENTS + agent_index();
  const size_t observed = (size_t)env_id() * OBSERVATION_AGENTS + OBSERVATION_FIRST + agent_id();
  for (int i = 0; i < OBSERVATION_SIZE; ++i)
    rollout_observations[recorded * OBSERVATION_SIZE + i] = observations[observed * OBSERVATION_SIZE + i];
  Random random = random_numbers();
  const float* mine = logits + (size_t)agent_index() * LOGITS;
  float log_prob = 0.0f;
  for (int head = 0; head < NUM_HEADS; ++head) {
    float part;
    const int action = choose(mine, head_sizes[head], random.uniform(), &part);
    actions[action_index() * NUM_HEADS + head] = action;
    rollout_actions[recorded * NUM_HEADS + head] = action;
    log_prob += part;
    mine += head_sizes[head];
  }
  rollout_log_probs[recorded] = log_prob;
}

// Draws, and records nothing.
extern "C" __global__ void act(const float* logits, const int* head_sizes, int* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  const float* mine = logits + (size_t)agent_index() * LOGITS;
  for (int head = 0; head < NUM_HEADS; ++head) {
    float log_prob;
    actions[action_index() * NUM_HEADS + head] = choose(mine, head_sizes[head], random.uniform(), &log_prob);
    mine += head_sizes[head];
  }
}

// Takes the most likely action of each head.
extern "C" __global__ void act_greedily(const float* logits, const int* head_sizes, int* actions) {
  if (!is_active()) return;  // guard
  const float* mine = logits + (size_t)agent_index() * LOGITS;
  for (int head = 0; head < NUM_HEADS; ++head) {
    actions[action_index() * NUM_HEADS + head] = most_likely(mine, head_sizes[head]);
    mine += head_sizes[head];
  }
}
