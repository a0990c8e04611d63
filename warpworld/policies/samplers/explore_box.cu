// Actions of one agent group in a bounded Box: what its policy would do, with noise (Lillicrap et al. 2016, arXiv
// 1509.02971, section 3).
//
// The constants are those of box.cuh, and NOISE_DAMPING and NOISE_STDDEV. Arrays: means (envs, NUM_AGENTS, ACTION_SIZE):
// what the policy would do, from -1 to 1; noise (envs, NUM_AGENTS, ACTION_SIZE): what was added last, before it was
// scaled; noise_scale (): what it is multiplied by; at_random (): whether actions are drawn uniformly instead, as
// they are until there is something to learn from; box and actions as in box.cuh.
#include "box.cuh"

__device__ float limited(float mean) { return fminf(fmaxf(mean, -1.0f), 1.0f); }

// Writes the actions; `next` gives the noise of a dimension.
template <class Next>
__device__ void explore(const float* means, const float* box, const bool* at_random, const float* noise_scale,
                        float* actions, Random& random, Next next) {
  if (at_random[0]) {
    draw_in_box(box, random, actions);
    return;
  }
  for (int i = 0; i < ACTION_SIZE; ++i) {
    const float mean = means[(size_t)agent_index() * ACTION_SIZE + i];
    actions[action_index() * ACTION_SIZE + i] = in_box(box, i, limited(mean + noise_scale[0] * next(i)));
  }
}

// An Ornstein-Uhlenbeck process, which begins at 0 with each episode: x <- (1 - NOISE_DAMPING) x + N(0, NOISE_STDDEV).
extern "C" __global__ void explore_ou(const float* means, const float* box, const bool* at_random,
                                      const float* noise_scale, const int* timestep, float* noise, float* actions) {
  if (!is_active()) return;  // guard
  float* own = noise + (size_t)agent_index() * ACTION_SIZE;
  Random random = random_numbers();
  for (int i = 0; i < ACTION_SIZE; ++i) {
    const float before = timestep[env_id()] == 0 ? 0.0f : own[i];
    own[i] = (1.0f - NOISE_DAMPING) * before + NOISE_STDDEV * random.normal();
  }
  explore(means, box, at_random, noise_scale, actions, random, [&](int i) { return own[i]; });
}

// Independent in each step: N(0, NOISE_STDDEV).
extern "C" __global__ void explore_normal(const float* means, const float* box, const bool* at_random,
                                          const float* noise_scale, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  explore(means, box, at_random, noise_scale, actions, random, [&](int) { return NOISE_STDDEV * random.normal(); });
}

// Draws without a policy.
extern "C" __global__ void act_at_random(const float* box, float* actions) {
  if (!is_active()) return;  // guard
  Random random = random_numbers();
  draw_in_box(box, random, actions);
}
