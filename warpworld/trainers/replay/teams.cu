// Makes one item of all agents of an env in a row: what a team earned, whether it can be drawn, and who took part in it.
//
// Arrays: team_rewards (ROWS, envs) and team_takes_part (ROWS, envs): what ring_rewards and takes_part are to an agent. A
// team's row ends with its env's episode, not with an agent's life. With MEAN a team earns the mean over its AGENTS, in which
// those that took no part have 0; else the sum.
#include "ring.cuh"

extern "C" __global__ void note_teams(Ring ring, const unsigned char* takes_part, const int64_t* written,
                                      float* team_rewards, unsigned char* team_takes_part, int num_envs) {
  const int64_t oldest = written[0] - NUM_STEPS;
  for (int i = first_lane(); i < NUM_STEPS * num_envs; i += all_lanes(num_envs)) {
    const int row = (int)((oldest + i / num_envs) % ROWS), env = i % num_envs;
    const size_t place = (size_t)row * num_envs + env;
    float sum = 0.0f;
    unsigned char flags = ring.terminated(row, env) ? ENDS : 0;
    for (size_t item = place * AGENTS; item < (place + 1) * AGENTS; ++item) {
      if (takes_part[item] & COUNTS) sum += ring.ring_rewards[item];
      flags |= takes_part[item] & (PLAYED | COUNTS | CUT_OFF);
    }
    team_rewards[place] = MEAN ? sum / AGENTS : sum;
    team_takes_part[place] = flags;
  }
}

// Agents that take part in the rows of a batch, and in what follows: those that take part in the next row, or were cut in
// the row before it, which then holds what they saw last; where a final observation follows, those that took part in the
// last row and did not leave with it.
extern "C" __global__ void gather_members(const int* batch_items, const float* batch_shares, const int* batch_next,
                                          const unsigned char* takes_part, bool* batch_takes_part,
                                          bool* batch_next_takes_part, int num_envs) {
  for (int i = first_lane(); i < BATCH * AGENTS; i += all_lanes(num_envs)) {
    const int k = i / AGENTS, agent = i % AGENTS, next = batch_next[k];
    const int following = (next < 0 ? -1 - next : next) * num_envs + batch_items[k] % num_envs;
    const unsigned char flags = takes_part[(size_t)batch_items[k] * AGENTS + agent];
    const unsigned char then = takes_part[(size_t)following * AGENTS + agent];
    const bool is_drawn = batch_shares[k] > 0.0f;
    batch_takes_part[i] = is_drawn && (flags & COUNTS);
    const int last = (next < 0 ? 0 : (next > 0 ? next - 1 : ROWS - 1)) * num_envs + batch_items[k] % num_envs;
    const bool sees_last = next >= 0 && (takes_part[(size_t)last * AGENTS + agent] & CUT_ALONE);
    batch_next_takes_part[i] = is_drawn && (sees_last || ((then & COUNTS) && !(next < 0 && (then & ENDS))));
  }
}
