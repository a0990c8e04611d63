// Epsilon-greedy actions of one agent group (Watkins 1989): with probability epsilon[env] each head's choice is drawn
// uniformly from what is allowed, else it is the first of the largest values.
//
// The constants are those of sample.cu. Arrays: values (envs, NUM_AGENTS, LOGITS): what the policy expects of each
// choice, head after head; epsilon (envs,), in [0, 1]; actions (envs, ACTION_AGENTS, NUM_HEADS); action_mask
// (envs, WORLD_AGENTS, MASK_SIZE): false forbids a choice. ring_taken_values, ring_best_values (rows, envs, POLICY_AGENTS):
// row `row` receives, from FIRST_POLICY_AGENT on, the mean over heads of the value of the choice taken, and of the best one.
// Where GREEDY_SIZE is not 0, greedy_actions (envs, WORLD_AGENTS, GREEDY_SIZE) receives the best choice of each head, whatever
// is taken; elsewhere it stands for another array, and is left as it is.
//
// Where all allowed choices have one value, as those of a random player do, any of them may be taken.
#include "choices.cuh"

struct Choice {
  int taken, best;
  float taken_value, best_value;
};

// The agent's part of an array of the environment.
__device__ inline int* own_greedy_actions(int* greedy_actions) {
  return greedy_actions + ((size_t)env_id() * WORLD_AGENTS + number_in_env()) * GREEDY_SIZE;
}

__device__ inline bool is_allowed(const bool* mask, bool all, int i) { return all || !mask || mask[i]; }

__device__ inline Choice explore_head(const float* values, const bool* mask, int count, float epsilon, Random& random) {
  int num_allowed = 0;
  for (int i = 0; i < count; ++i) num_allowed += is_allowed(mask, false, i);
  const bool all = num_allowed == 0;  // where nothing is allowed, all is
  if (all) num_allowed = count;
  int best = -1;
  bool differ = false;
  for (int i = 0; i < count; ++i) {
    if (!is_allowed(mask, all, i)) continue;
    differ |= best >= 0 && values[i] != values[best];
    if (best < 0 || values[i] > values[best]) best = i;
  }
  Choice choice{best, best, values[best], values[best]};
  const bool explores = random.uniform() < epsilon || !differ;
  int left = (int)random.below((uint32_t)num_allowed);
  if (!explores) return choice;
  for (int i = 0; i < count; ++i)
    if (is_allowed(mask, all, i) && left-- == 0) choice.taken = i;
  choice.taken_value = values[choice.taken];
  return choice;
}

__device__ inline Choice explore_all(const float* values, const bool* mask, const int* head_sizes, const float* epsilon,
                                     int* actions, int* greedy_actions) {
  const float* mine = own_outputs(values);
  Random random = random_numbers();
  Choice sum{0, 0, 0.0f, 0.0f};
  for (int head = 0; head < NUM_HEADS; ++head) {
    const int size = size_of(head_sizes, head);
    const Choice choice = explore_head(mine, mask, size, epsilon[env_id()], random);
    actions[action_index() * NUM_HEADS + head] = choice.taken;
    if (GREEDY_SIZE > 0) own_greedy_actions(greedy_actions)[head] = choice.best;
    sum.taken_value += choice.taken_value / NUM_HEADS;
    sum.best_value += choice.best_value / NUM_HEADS;
    mine += size;
    if (mask) mask += size;
  }
  return sum;
}

__device__ inline void note_values(const Choice& choice, const int* row, float* taken, float* best, int num_envs) {
  const size_t place = ((size_t)row[0] * num_envs + env_id()) * POLICY_AGENTS + FIRST_POLICY_AGENT + agent_id();
  taken[place] = choice.taken_value;
  best[place] = choice.best_value;
}

extern "C" __global__ void explore(const float* values, const int* head_sizes, const float* epsilon, int* actions,
                                   int* greedy_actions) {
  if (!is_active()) return;  // guard
  explore_all(values, nullptr, head_sizes, epsilon, actions, greedy_actions);
}

extern "C" __global__ void explore_masked(const float* values, const bool* action_mask, const int* head_sizes,
                                          const float* epsilon, int* actions, int* greedy_actions) {
  if (!is_active()) return;  // guard
  explore_all(values, own_mask(action_mask), head_sizes, epsilon, actions, greedy_actions);
}

extern "C" __global__ void explore_and_note(const float* values, const int* head_sizes, const float* epsilon,
                                            const int* row, int* actions, int* greedy_actions,
                                            float* ring_taken_values, float* ring_best_values, int num_envs) {
  if (!is_active()) return;  // guard
  const Choice choice = explore_all(values, nullptr, head_sizes, epsilon, actions, greedy_actions);
  note_values(choice, row, ring_taken_values, ring_best_values, num_envs);
}

extern "C" __global__ void explore_and_note_masked(const float* values, const bool* action_mask, const int* head_sizes,
                                                   const float* epsilon, const int* row, int* actions,
                                                   int* greedy_actions, float* ring_taken_values,
                                                   float* ring_best_values, int num_envs) {
  if (!is_active()) return;  // guard
  const Choice choice = explore_all(values, own_mask(action_mask), head_sizes, epsilon, actions, greedy_actions);
  note_values(choice, row, ring_taken_values, ring_best_values, num_envs);
}
