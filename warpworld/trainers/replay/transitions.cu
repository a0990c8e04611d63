// Draws transitions of n steps from a ring of rows, see n_step.cuh: each item is one step of one agent.
//
// A policy reads STACK observations, the oldest first. With FINALS the last observations of truncated
// episodes lie in a ring of SLOTS per env; finals_before (ROWS, envs) gives the place of a row's.
#include "frames.cuh"
#include "n_step.cuh"

// ---- after an iteration ------------------------------------------------------------------------------------------------
// The leaf of an item whose transition is complete; 0 where there is nothing to learn.
__device__ inline float first_leaf(const Ring& ring, const unsigned char* takes_part, const FirstPriority& first,
                                   int row, int env, int agent, float gamma) {
  const size_t item = ring.item(row, env, agent);
  if (!(takes_part[item] & PLAYED) || (!FINALS && ring.cut_off(row, env))) return 0.0f;
  if (!ACTORS_PRIORITY) return first.largest_leaf[0];
  const Transition found = transition_of(ring, takes_part, row, env, agent, gamma);
  if (found.final) return first.largest_leaf[0];  // no actor saw the final observation
  const float error = acted_error(ring, first, found, item, env, agent);
  const float leaf = powf(fabsf(error) + SMALLEST_PRIORITY, first.alpha);
  return is_finite(leaf) ? leaf : first.largest_leaf[0];
}

// Leaves of the rows that an iteration changed. Rows that are N_STEP steps old become drawable; younger ones are not yet.
// The STACK - 1 oldest rows are no longer drawable, since the frames before them were overwritten; where TOUCHED is larger,
// nor are those that the next iteration overwrites while others are drawn. Rows that were never written have no leaf. `touched` receives the first of the changed rows and their number, `generation` how often a row
// has been overwritten.
extern "C" __global__ void set_first_leaves(Ring ring, FirstPriority first, const unsigned char* takes_part,
                                            const int64_t* written, float* leaves, int* touched, int* generation,
                                            float gamma, int num_envs) {
  const int64_t newest = written[0] - NUM_STEPS, oldest = newest - N_STEP;
  const int block = num_envs * AGENTS, rows = TOUCHED < ROWS ? TOUCHED : ROWS;
  if (first_lane() == 0) {
    touched[0] = (int)((oldest + ROWS) % ROWS);
    touched[1] = rows;
  }
  for (int t = first_lane(); t < NUM_STEPS; t += all_lanes(num_envs))
    generation[(newest + t) % ROWS] = (int)((newest + t) / ROWS);
  for (int64_t t = oldest; t < oldest + rows; ++t) {
    if (t >= oldest + NUM_STEPS && t < newest) continue;  // they have no leaf yet
    const int row = (int)((t + ROWS) % ROWS);
    const bool complete = t >= 0 && t < written[0] - N_STEP;
    for (int i = first_lane(); i < block; i += all_lanes(num_envs))
      leaves[(size_t)row * block + i] =
          complete ? first_leaf(ring, takes_part, first, row, i / AGENTS, i % AGENTS, gamma) : 0.0f;
  }
}

// ---- final observations ------------------------------------------------------------------------------------------------
// In each step, the next slot of an env that was truncated and did not terminate receives its agents' last observations
// and action masks.
struct Finals {
  const bool* last_mask;
  bool* finals_mask;   // (envs, SLOTS, AGENTS, CHOICES)
  int* finals_kept;    // (envs,): how many were kept so far
  int* finals_before;  // (ROWS, envs): how many had been kept before a row
};

template <typename Number>
__device__ void keep_final(const Number* last, const bool* terminated, const bool* truncated, const int* row,
                           Number* finals, const Finals& kept, int num_envs) {
  const int env = env_id(), before = kept.finals_kept[env];
  __syncthreads();  // orders the reading of finals_kept before its advance
  if (lane() == 0) kept.finals_before[(size_t)row[0] * num_envs + env] = before;
  if (!truncated[env] || terminated[env]) return;
  const size_t from = (size_t)env * AGENTS, to = ((size_t)env * SLOTS + before % SLOTS) * AGENTS;
  for (int i = lane(); i < AGENTS * ENTRIES; i += num_lanes()) finals[to * ENTRIES + i] = last[from * ENTRIES + i];
  if (ACTION_MASKED)
    for (int i = lane(); i < AGENTS * CHOICES; i += num_lanes())
      kept.finals_mask[to * CHOICES + i] = kept.last_mask[from * CHOICES + i];
  if (lane() == 0) kept.finals_kept[env] = before + 1;
}

extern "C" __global__ void keep_final_observations(const float* last, const bool* terminated, const bool* truncated,
                                                   const int* row, float* finals, Finals kept, int num_envs) {
  keep_final(last, terminated, truncated, row, finals, kept, num_envs);
}

extern "C" __global__ void keep_final_bytes(const unsigned char* last, const bool* terminated, const bool* truncated,
                                            const int* row, unsigned char* finals, Finals kept, int num_envs) {
  keep_final(last, terminated, truncated, row, finals, kept, num_envs);
}

// ---- a batch -----------------------------------------------------------------------------------------------------------
// Fetches what a transition's rows are put together from.
__device__ inline void fetch_transition(const Ring& ring, const unsigned char* takes_part, int item) {
  const int block = ring.num_envs * AGENTS;
  for (int k = 0; k < N_STEP; ++k, item += block) {
    if (item >= ROWS * block) item -= ROWS * block;
    fetch(takes_part + item);
    fetch(ring.ring_rewards + item);
  }
}

// Returns and discounts of the transitions that were drawn, and the rows of what follows, -1 - row where that is the
// final observation of a row. Where nothing could be drawn there are zeros; nothing is learnt from them.
extern "C" __global__ void gather(Ring ring, const unsigned char* takes_part, const int* batch_items,
                                  const float* batch_shares, float* batch_returns, float* batch_discounts,
                                  int* batch_next, float gamma, int num_envs) {
  for (int i = first_lane(); i < BATCH; i += all_lanes(num_envs)) {
    if (i + FETCHED_AHEAD < BATCH) fetch_transition(ring, takes_part, batch_items[i + FETCHED_AHEAD]);
    const int agent = batch_items[i] % AGENTS, place = batch_items[i] / AGENTS, env = place % num_envs;
    const Transition found = transition_of(ring, takes_part, place / num_envs, env, agent, gamma);
    const bool is_drawn = batch_shares[i] > 0.0f;
    batch_returns[i] = is_drawn ? found.sum : 0.0f;
    batch_discounts[i] = is_drawn ? found.discount : 0.0f;
    batch_next[i] = found.final ? -1 - found.next : found.next;
  }
}

// The places of a batch's transitions in the ring and among the final observations.
struct Places {
  const int* batch_items;
  const float* batch_shares;
  const int* batch_next;
  const int* finals_before;  // (ROWS, envs), with FINALS

  __device__ int agent(int i) const { return batch_items[i] % AGENTS; }
  __device__ int env(int i, int num_envs) const { return batch_items[i] / AGENTS % num_envs; }
  __device__ int row(int i, int num_envs) const { return batch_items[i] / AGENTS / num_envs; }
  // in a ring's array, in agents
  __device__ size_t in_ring(int i, int row, int num_envs) const {
    return ((size_t)row * num_envs + env(i, num_envs)) * AGENTS + agent(i);
  }
  // among the finals of a row, in agents
  __device__ size_t in_finals(int i, int row, int num_envs) const {
    const int at = env(i, num_envs);
    const int slot = finals_before[(size_t)row * num_envs + at] % SLOTS;
    return ((size_t)at * SLOTS + slot) * AGENTS + agent(i);
  }
};

// The row `back` steps before one, or -1 where an episode or a life began in between or nothing was written yet.
__device__ inline int row_before(const Ring& ring, int64_t written, int row, int env, int agent, int back) {
  int at = row;
  for (int k = 0; k < back; ++k) {
    const int64_t age = (written - 1 - at) % ROWS;  // steps since that row was written
    if (age + 1 >= written || age + 1 >= ROWS) return -1;
    at = at > 0 ? at - 1 : ROWS - 1;
    if (ring.ended(at, env) || ring.leaves(ring.item(at, env, agent))) return -1;
    // What an agent that was cut saw last, in the row behind, is the end of its stack.
    const bool has_before = age + 2 < written && age + 2 < ROWS;
    if (CUTTING && has_before && ring.cut_alone(at > 0 ? at - 1 : ROWS - 1, env, agent)) return -1;
  }
  return at;
}

// Fetches where the newest observations of a batch's transitions begin, some envs before their own: of what the agents
// acted on, and of what follows.
template <typename Number>
__device__ void fetch_observations(const Places& places, const Number* observations, int num_envs) {
  const int share = (BATCH + num_envs - 1) / num_envs;
  const int first = (env_id() + (FETCHED_AHEAD + share - 1) / share) * share;
  const int block = num_envs * AGENTS;
  for (int i = first; i < first + share && i < BATCH; ++i) {
    const int item = places.batch_items[i], next = places.batch_next[i];
    fetch(observations + (size_t)item * ENTRIES);
    fetch(observations + ((size_t)(next < 0 ? -1 - next : next) * block + item % block) * ENTRIES);
  }
}

// A batch's stacks: of what the agents acted on, or of what follows.
template <bool FOLLOWING, typename Number>
__device__ void gather_stacks(const Ring& ring, const Places& places, const int64_t* written, const Number* observations,
                              const Number* finals, Number* batch_observations) {
  const int num_envs = ring.num_envs;
  copy_frames<BATCH * STACK, ENTRIES, false>(batch_observations, num_envs, [&](int k) -> const Number* {
    const int i = k / STACK, back = STACK - 1 - k % STACK, env = places.env(i, num_envs);
    if (!(places.batch_shares[i] > 0.0f)) return nullptr;
    int row = FOLLOWING ? places.batch_next[i] : places.row(i, num_envs);
    const bool is_final = row < 0;
    if (is_final) row = -1 - row;
    if (FINALS && is_final && back == 0) return finals + places.in_finals(i, row, num_envs) * ENTRIES;
    row = row_before(ring, written[0], row, env, places.agent(i), is_final ? back - 1 : back);
    return row < 0 ? nullptr : observations + places.in_ring(i, row, num_envs) * ENTRIES;
  });
}

extern "C" __global__ void gather_observations(Ring ring, Places places, const int64_t* written,
                                               const float* ring_observations, const float* finals,
                                               float* batch_observations, float* batch_next_observations) {
  fetch_observations(places, ring_observations, ring.num_envs);
  gather_stacks<false>(ring, places, written, ring_observations, finals, batch_observations);
  gather_stacks<true>(ring, places, written, ring_observations, finals, batch_next_observations);
}

extern "C" __global__ void gather_bytes(Ring ring, Places places, const int64_t* written,
                                        const unsigned char* ring_observations, const unsigned char* finals,
                                        unsigned char* batch_observations, unsigned char* batch_next_observations) {
  fetch_observations(places, ring_observations, ring.num_envs);
  gather_stacks<false>(ring, places, written, ring_observations, finals, batch_observations);
  gather_stacks<true>(ring, places, written, ring_observations, finals, batch_next_observations);
}

// The batch's actions, ACTION_SIZE numbers of four bytes each.
template <typename Number>
__device__ void gather_actions_of(const Places& places, const Number* actions, Number* batch_actions, int num_envs) {
  for (int i = first_lane(); i < BATCH * ACTION_SIZE; i += all_lanes(num_envs)) {
    const int item = places.batch_items[i / ACTION_SIZE];
    batch_actions[i] = actions[(size_t)item * ACTION_SIZE + i % ACTION_SIZE];
  }
}

extern "C" __global__ void gather_choices(Places places, const int* ring_actions, int* batch_actions, int num_envs) {
  gather_actions_of(places, ring_actions, batch_actions, num_envs);
}

extern "C" __global__ void gather_box_actions(Places places, const float* ring_actions, float* batch_actions,
                                              int num_envs) {
  gather_actions_of(places, ring_actions, batch_actions, num_envs);
}

// The action masks of the observations that follow.
extern "C" __global__ void gather_masks(Places places, const bool* ring_action_mask, const bool* finals_mask,
                                        bool* batch_next_mask, int num_envs) {
  for (int i = first_lane(); i < BATCH * CHOICES; i += all_lanes(num_envs)) {
    const int k = i / CHOICES, next = places.batch_next[k];
    const bool* mask = FINALS && next < 0 ? finals_mask + places.in_finals(k, -1 - next, num_envs) * CHOICES
                                          : ring_action_mask + places.in_ring(k, next < 0 ? -1 - next : next, num_envs) * CHOICES;
    batch_next_mask[i] = mask[i % CHOICES];
  }
}
