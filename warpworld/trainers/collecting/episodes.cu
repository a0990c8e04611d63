// Adds up the episodes that ended in a rollout. One launch per rollout: every agent walks through its rows.
//
// Arrays: rollout_rewards, rollout_agent_mask (num_steps, envs, NUM_AGENTS), rollout_terminated, rollout_truncated
// (num_steps, envs): read. episode_return (envs, NUM_AGENTS), episode_steps (envs,): of the running episode, carried on
// from rollout to rollout. finished_returns (envs, NUM_AGENTS), finished_steps, finished_episodes (envs,): sums over
// the episodes that ended, to which those of this rollout are added. Agent 0 writes what is per env.
#include <warpworld.cuh>

// Rows whose mask is false do not count; a null mask counts all.
__device__ void add_up(const float* rewards, const bool* mask, const bool* terminated, const bool* truncated,
                       float* episode_return, int* episode_steps, double* finished_returns, int* finished_steps,
                       int* finished_episodes, int num_steps, int num_envs) {
  const int agent = agent_index(), env = env_id();
  const bool counts_steps = agent_id() == 0;
  float running = episode_return[agent];
  int steps = counts_steps ? episode_steps[env] : 0, steps_of_finished = 0, episodes = 0;
  double finished = 0.0;
  for (int t = 0; t < num_steps; ++t) {
    const size_t row = (size_t)t * num_envs, here = row * NUM_AGENTS + agent;
    if (!mask || mask[here]) running += rewards[here];
    steps++;
    if (!terminated[row + env] && !truncated[row + env]) continue;
    finished += running;
    steps_of_finished += steps;
    episodes++;
    running = 0.0f;
    steps = 0;
  }
  episode_return[agent] = running;
  finished_returns[agent] += finished;
  if (!counts_steps) return;
  episode_steps[env] = steps;
  finished_steps[env] += steps_of_finished;
  finished_episodes[env] += episodes;
}

extern "C" __global__ void add_episodes(const float* rollout_rewards, const bool* rollout_terminated,
                                        const bool* rollout_truncated, float* episode_return, int* episode_steps,
                                        double* finished_returns, int* finished_steps, int* finished_episodes,
                                        int num_steps, int num_envs) {
  if (!is_active()) return;  // guard
  add_up(rollout_rewards, nullptr, rollout_terminated, rollout_truncated, episode_return, episode_steps,
         finished_returns, finished_steps, finished_episodes, num_steps, num_envs);
}

extern "C" __global__ void add_masked_episodes(const float* rollout_rewards, const bool* rollout_agent_mask,
                                               const bool* rollout_terminated, const bool* rollout_truncated,
                                               float* episode_return, int* episode_steps, double* finished_returns,
                                               int* finished_steps, int* finished_episodes, int num_steps,
                                               int num_envs) {
  if (!is_active()) return;  // guard
  add_up(rollout_rewards, rollout_agent_mask, rollout_terminated, rollout_truncated, episode_return, episode_steps,
         finished_returns, finished_steps, finished_episodes, num_steps, num_envs);
}
