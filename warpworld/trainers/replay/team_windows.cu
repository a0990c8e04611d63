// Gathers what agents of teams have of their own in windows of a ring, see windows.cu, for which a team is one agent: an
// item is a window and an env, with all AGENTS agents in it. Batches are time-major, (steps, BATCH, AGENTS) or
// (steps, BATCH, numbers of a state).
#include "ring.cuh"

constexpr int LENGTH = BURN_IN + TRAIN + N_STEP, FOLLOWED = TRAIN + N_STEP;

// The windows that were drawn.
struct Drawn {
  const int* batch_items;
  const float* batch_shares;

  __device__ int env(int i, int num_envs) const { return batch_items[i] % num_envs; }
  __device__ int row(int i, int t, int num_envs) const { return row_after(batch_items[i] / num_envs * STRIDE, t, ROWS); }
  // where nothing could be drawn there are zeros; nothing is learnt from them
  __device__ bool is_drawn(int i) const { return batch_shares[i] > 0.0f; }
};

// An agent's flags in step t of a window; 0 before its first.
__device__ inline unsigned char flags_at(const Drawn& drawn, const unsigned char* takes_part, int i, int t, int agent,
                                         int num_envs) {
  if (t < 0) return 0;
  const size_t place = (size_t)drawn.row(i, t, num_envs) * num_envs + drawn.env(i, num_envs);
  return takes_part[place * AGENTS + agent];
}

// The steps before which an agent's memory is emptied: behind a cut a step later.
extern "C" __global__ void gather_starts(Drawn drawn, const unsigned char* takes_part, const bool* window_cuts,
                                         bool* batch_member_starts, int num_envs) {
  for (int k = first_lane(); k < LENGTH * BATCH * AGENTS; k += all_lanes(num_envs)) {
    const int agent = k % AGENTS, i = k / AGENTS % BATCH, t = k / AGENTS / BATCH;
    batch_member_starts[k] = (flags_at(drawn, takes_part, i, t - 1, agent, num_envs) & (ENDS | CUT_OFF)) ||
                             (flags_at(drawn, takes_part, i, t - 2, agent, num_envs) & CUT_ALONE) ||
                             (CUTTING && t == 1 && window_cuts[(size_t)drawn.batch_items[i] * AGENTS + agent]);
  }
}

// Agents that take part in the trained steps and in those behind them; and those that do where such a step is what follows:
// besides these, agents that were cut in the step before it, which then holds what they saw last.
extern "C" __global__ void gather_members(Drawn drawn, const unsigned char* takes_part, bool* batch_takes_part,
                                          bool* batch_next_takes_part, int num_envs) {
  for (int k = first_lane(); k < FOLLOWED * BATCH * AGENTS; k += all_lanes(num_envs)) {
    const int agent = k % AGENTS, i = k / AGENTS % BATCH, t = BURN_IN + k / AGENTS / BATCH;
    const bool counts = flags_at(drawn, takes_part, i, t, agent, num_envs) & COUNTS;
    const bool sees_last = flags_at(drawn, takes_part, i, t - 1, agent, num_envs) & CUT_ALONE;
    batch_takes_part[k] = drawn.is_drawn(i) && counts;
    batch_next_takes_part[k] = drawn.is_drawn(i) && (counts || sees_last);
  }
}

// What the environment declares as the teams' states in these steps: TEAM_STATE numbers each.
extern "C" __global__ void gather_states(Drawn drawn, const float* ring_state, float* batch_team_states, int num_envs) {
  for (int k = first_lane(); k < FOLLOWED * BATCH * TEAM_STATE; k += all_lanes(num_envs)) {
    const int number = k % TEAM_STATE, i = k / TEAM_STATE % BATCH, t = BURN_IN + k / TEAM_STATE / BATCH;
    const size_t place = (size_t)drawn.row(i, t, num_envs) * num_envs + drawn.env(i, num_envs);
    batch_team_states[k] = drawn.is_drawn(i) ? ring_state[place * TEAM_STATE + number] : 0.0f;
  }
}
