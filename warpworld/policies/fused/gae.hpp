// Generalised advantage estimation: trainers/algorithms/targets/gae.py has the formulas, and their source.
#pragma once

#include <stdint.h>

namespace fused {

// fused/gae.py mirrors it. All are (steps, envs, agents) but for those that say otherwise.
struct Gae {
  int64_t steps, envs, agents;
  const float *rewards, *values;
  const float *next_values, *truncated_values;  // the first (envs, agents)
  const uint8_t *terminated, *truncated;        // (steps, envs)
  const uint8_t *agent_terminated, *agent_truncated;  // null if no agent's part ends so before its env's episode
  float gamma, decay;                           // decay: gamma * lambda
  float *advantages, *returns;
};

static void estimate_step(const Gae& call, int64_t t) {
  const int64_t width = call.envs * call.agents, row = t * width;
  const bool is_last = t == call.steps - 1;
  const float *following = is_last ? call.next_values : call.values + row + width, *value = call.values + row;
  float *advantages = call.advantages + row, *returns = call.returns + row;
  for (int64_t env = 0, i = 0; env < call.envs; env++) {
    const bool ended = call.terminated[t * call.envs + env], out_of_time = call.truncated[t * call.envs + env];
    for (int64_t agent = 0; agent < call.agents; agent++, i++) {
      const bool is_final = ended || (call.agent_terminated && call.agent_terminated[row + i]);
      const bool is_cut = out_of_time || (call.agent_truncated && call.agent_truncated[row + i]);
      // What must not be read may be anything, NaN too.
      const float expected = is_final ? 0.0f : out_of_time ? call.truncated_values[row + i] : following[i];
      const float later = is_final || is_cut || is_last ? 0.0f : advantages[width + i];
      advantages[i] = call.rewards[row + i] + call.gamma * expected - value[i] + call.decay * later;
      returns[i] = advantages[i] + value[i];
    }
  }
}

static void estimate(const Gae& call) {
  for (int64_t t = call.steps - 1; t >= 0; t--) estimate_step(call, t);
}

}  // namespace fused
