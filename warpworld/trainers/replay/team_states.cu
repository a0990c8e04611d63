// Keeps and gathers what the environment declares as a team's state: STATE_SIZE numbers of an env.
//
// Arrays: ring_state (ROWS, envs, STATE_SIZE), before each row's step; with FINALS, last_state (1, envs, STATE_SIZE): after
// the latest step, before resets, and finals_state (envs, SLOTS, STATE_SIZE): those of truncated episodes, in the slots of
// their final observations, see transitions.cu.
#include "replay.cuh"

// Runs before the env's final observations are kept, which counts finals_kept up.
extern "C" __global__ void keep_final_states(const float* last_state, const bool* terminated, const bool* truncated,
                                             const int* finals_kept, float* finals_state, int num_envs) {
  const int env = env_id();
  if (!truncated[env] || terminated[env]) return;
  const size_t slot = (size_t)env * SLOTS + finals_kept[env] % SLOTS;
  for (int i = lane(); i < STATE_SIZE; i += num_lanes())
    finals_state[slot * STATE_SIZE + i] = last_state[(size_t)env * STATE_SIZE + i];
}

// The states of a batch, and those that follow; zeros where nothing could be drawn.
extern "C" __global__ void gather_states(const int* batch_items, const float* batch_shares, const int* batch_next,
                                         const int* finals_before, const float* ring_state, const float* finals_state,
                                         float* batch_states, float* batch_next_states, int num_envs) {
  for (int i = first_lane(); i < BATCH * STATE_SIZE; i += all_lanes(num_envs)) {
    const int k = i / STATE_SIZE, env = batch_items[k] % num_envs, next = batch_next[k], number = i % STATE_SIZE;
    const bool is_drawn = batch_shares[k] > 0.0f, is_final = FINALS && next < 0;
    const size_t following = (size_t)(next < 0 ? -1 - next : next) * num_envs + env;
    const size_t slot = is_final ? (size_t)env * SLOTS + finals_before[following] % SLOTS : 0;
    const float then = is_final ? finals_state[slot * STATE_SIZE + number] : ring_state[following * STATE_SIZE + number];
    batch_states[i] = is_drawn ? ring_state[(size_t)batch_items[k] * STATE_SIZE + number] : 0.0f;
    batch_next_states[i] = is_drawn ? then : 0.0f;
  }
}
