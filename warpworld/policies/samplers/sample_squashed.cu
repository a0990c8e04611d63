// Actions of one agent group in a bounded Box: tanh of numbers drawn from normal distributions (Haarnoja et al. 2018, arXiv
// 1812.05905, appendix C).
//
// The constants are those of box.cuh. Arrays: outputs (envs, NUM_AGENTS, 2 * ACTION_SIZE): an agent's means, then the
// logarithms of its standard deviations; at_random (): whether actions are drawn uniformly instead, as they are until
// there is something to learn from; box and actions as in box.cuh.
#include "box.cuh"

__device__ const float* own_outputs(const float* outputs) { return outputs + (size_t)agent_index() * 2 * ACTION_SIZE; }

__device__ void draw_squashed(const float* outputs, const float* box, Random& random, float* actions) {
  const float *means = own_outputs(outputs), *log_stds = means + ACTION_SIZE;
  for (int i = 0; i < ACTION_SIZE; ++i) {
    const float drawn = tanhf(means[i] + expf(log_stds[i]) * random.normal());
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, drawn);
  }
}

extern "C" __global__ void act(const float* outputs, const float* box, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  draw_squashed(outputs, box, random, actions);
}

extern "C" __global__ void explore(const float* outputs, const float* box, const bool* at_random, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  if (at_random[0])
    draw_in_box(box, random, actions);
  else
    draw_squashed(outputs, box, random, actions);
}

// Takes the tanh of the means.
extern "C" __global__ void act_greedily(const float* outputs, const float* box, float* actions) {
  if (!is_active()) return;  // guard
  for (int i = 0; i < ACTION_SIZE; ++i)
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, tanhf(own_outputs(outputs)[i]));
}

// Draws without a policy.
extern "C" __global__ void act_at_random(const float* box, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  draw_in_box(box, random, actions);
}
