// What stands before the replay's kernels where they are checked as phases of an environment: a step, played at random.
extern "C" __global__ void play(bool* terminated, bool* truncated, const int* row, float* ring_observations,
                                int* ring_actions, bool* ring_action_mask, float* ring_rewards, bool* ring_terminated,
                                bool* ring_truncated, bool* ring_agent_terminated, bool* ring_agent_truncated,
                                bool* ring_agent_mask,
                                float* ring_taken_values, float* ring_best_values, float* last, bool* last_mask,
                                int num_envs) {
  if (!is_active()) return;
  Random own = Random::agent();
  const size_t place = (size_t)row[0] * num_envs + env_id(), item = place * AGENTS + agent_id();
  const size_t seen = (size_t)agent_index();
  for (int i = 0; i < ENTRIES; ++i) ring_observations[item * ENTRIES + i] = own.uniform();
  for (int i = 0; i < ENTRIES; ++i) last[seen * ENTRIES + i] = own.uniform();
  for (int i = 0; i < CHOICES; ++i) ring_action_mask[item * CHOICES + i] = own.uniform() < 0.7f;
  for (int i = 0; i < CHOICES; ++i) last_mask[seen * CHOICES + i] = own.uniform() < 0.7f;
  ring_actions[item] = (int)own.below(CHOICES);
  ring_rewards[item] = own.uniform();
  ring_taken_values[item] = own.uniform();
  ring_best_values[item] = own.uniform();
  ring_agent_terminated[item] = own.uniform() < 0.1f;
  ring_agent_truncated[item] = own.uniform() < 0.1f;
  ring_agent_mask[item] = own.uniform() < 0.9f;
  if (agent_id() != 0) return;
  Random shared = Random::env();
  ring_terminated[place] = terminated[env_id()] = shared.uniform() < 0.1f;
  ring_truncated[place] = truncated[env_id()] = shared.uniform() < 0.2f;
}

// How far a batch was off.
extern "C" __global__ void miss(float* batch_errors, int num_envs) {
  Random random = Random::agent();
  for (int i = first_lane(); i < BATCH; i += all_lanes(num_envs)) batch_errors[i] = random.uniform();
}
