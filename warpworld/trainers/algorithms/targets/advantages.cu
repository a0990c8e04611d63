// Advantages and value targets of one group's rollout. One launch: each of the group's agents walks back through its rows.
//
// NUM_AGENTS is the group's size. Its agents are the numbers FIRST, FIRST + STRIDE, ... of an env's AGENTS. Arrays called
// rollout_* hold all agents, (num_steps, envs, AGENTS), or ends of envs, (num_steps, envs); the others hold the group's,
// (num_steps, envs, NUM_AGENTS), and next_values (envs, NUM_AGENTS). With LEAVING an agent's life may end before its env's
// episode; with CUTTING it may be cut before, and the next row holds what it saw last; with MASKED a row may not count, and
// earns 0; else the pointer leads to a placeholder, which is never read. REWARD_SCALE and REWARD_CLIP make of a reward the one
// that is learnt from.
//
// Formulas and cases are those of gae.py and vtrace.py. Where a trajectory ends nothing of the row behind it is read, so
// that NaN does not spread to other episodes.
#include <rewards.cuh>
#include <warpworld.cuh>

// A step as its agent's trajectory has it.
struct Step {
  float reward;
  bool is_final;  // nothing is expected after it
  bool is_cut;    // what is expected after it is the value of the final observation
  bool is_last;   // what comes later adds nothing to what is expected after it
};

struct Rollout {
  const float* rollout_rewards;
  const bool* rollout_terminated;
  const bool* rollout_truncated;
  const bool* rollout_agent_terminated;
  const bool* rollout_agent_truncated;
  const bool* rollout_agent_mask;
  const float* values;
  const float* next_values;
  const float* final_values;
  int num_steps;
  int num_envs;

  __device__ size_t row(int t) const { return (size_t)t * num_envs + env_id(); }
  __device__ size_t own(int t) const { return row(t) * NUM_AGENTS + agent_id(); }
  __device__ Step step(int t) const {
    const size_t agent = row(t) * AGENTS + FIRST + agent_id() * STRIDE;
    Step found;
    found.reward = !MASKED || rollout_agent_mask[agent] ? learnt_reward(rollout_rewards[agent]) : 0.0f;
    found.is_final = rollout_terminated[row(t)] || (LEAVING && rollout_agent_terminated[agent]);
    found.is_cut = rollout_truncated[row(t)];
    found.is_last = found.is_final || found.is_cut || (CUTTING && rollout_agent_truncated[agent]);
    return found;
  }
  // What is expected after a step, `following` being the value of the next observation.
  __device__ float expected(Step step, int t, float following) const {
    if (step.is_final) return 0.0f;
    return step.is_cut ? final_values[own(t)] : following;
  }
};

// `decay` is gamma * lambda.
extern "C" __global__ void estimate_gae(Rollout rollout, float* advantages, float* returns, float gamma, float decay) {
  if (!is_active()) return;
  float following = rollout.next_values[agent_index()], advantage = 0.0f;
  for (int t = rollout.num_steps - 1; t >= 0; --t) {
    const Step step = rollout.step(t);
    const float value = rollout.values[rollout.own(t)];
    const float error = step.reward + gamma * rollout.expected(step, t, following) - value;
    advantage = step.is_last ? error : error + decay * advantage;
    advantages[rollout.own(t)] = advantage;
    returns[rollout.own(t)] = advantage + value;
    following = value;
  }
}

// NaN stays NaN.
__device__ float at_most(float limit, float ratio) { return ratio > limit ? limit : ratio; }

// `difference` is what the target is above the value.
extern "C" __global__ void estimate_vtrace(Rollout rollout, const float* log_ratios, float* returns, float gamma, float decay,
                                           float rho_bar, float c_bar) {
  if (!is_active()) return;
  float following = rollout.next_values[agent_index()], difference = 0.0f;
  for (int t = rollout.num_steps - 1; t >= 0; --t) {
    const Step step = rollout.step(t);
    const float value = rollout.values[rollout.own(t)], ratio = expf(log_ratios[rollout.own(t)]);
    const float error = step.reward + gamma * rollout.expected(step, t, following) - value;
    const float weighed = at_most(rho_bar, ratio) * error;
    difference = step.is_last ? weighed : weighed + decay * at_most(c_bar, ratio) * difference;
    returns[rollout.own(t)] = value + difference;
    following = value;
  }
}
