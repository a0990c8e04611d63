// Draws windows of a ring of rows, see n_step.cuh: each item is LENGTH successive steps of one agent, for a policy that
// remembers (Kapturowski et al. 2019).
//
// A window starts at each row that STRIDE divides; STRIDE divides ROWS. Its first BURN_IN rows warm a memory up, the next
// TRAIN are learnt from, and N_STEP more follow the last of these. A window may cross ends of episodes: `batch_starts`
// marks the steps before which a memory is empty. Window number s / STRIDE % SLOTS belongs to start row s; an item is a window, an env and
// an agent. Batches are time-major, (steps, BATCH, ...).
#include "frames.cuh"
#include "n_step.cuh"

constexpr int LENGTH = BURN_IN + TRAIN + N_STEP, SLOTS = ROWS / STRIDE;
// windows that begin in or after the new rows or the AHEAD next ones, or were not complete before
constexpr int TOUCHED = (NUM_STEPS + AHEAD + LENGTH - 1) / STRIDE + 1;
static_assert(ROWS % STRIDE == 0 && NUM_STEPS + AHEAD + LENGTH <= ROWS, "whole windows, none of which is touched twice");

// ---- after an iteration ------------------------------------------------------------------------------------------------
// Whether the value of an agent's action in a row is learnt.
__device__ inline bool is_learnt(const Ring& ring, const unsigned char* takes_part, int row, int env, int agent) {
  return (takes_part[ring.item(row, env, agent)] & (PLAYED | CUT_OFF)) == PLAYED;
}

// The leaf of a complete window that starts in a row; 0 where there is nothing to learn. Its priority is
// eta * largest + (1 - eta) * mean of the errors by the actor's own values, or the largest leaf so far.
__device__ inline float first_leaf(const Ring& ring, const unsigned char* takes_part, const FirstPriority& first,
                                   int start, int env, int agent, float gamma, float eta) {
  int count = 0;
  float largest = 0.0f, sum = 0.0f;
  for (int t = 0; t < TRAIN; ++t) {
    const int row = row_after(start, BURN_IN + t, ROWS);
    if (!is_learnt(ring, takes_part, row, env, agent)) continue;
    count += 1;
    if (!ACTORS_PRIORITY) break;
    const Transition found = transition_of(ring, takes_part, row, env, agent, gamma);
    const float error = fabsf(acted_error(ring, first, found, ring.item(row, env, agent), env, agent));
    largest = fmaxf(largest, error);
    sum += error;
  }
  if (count == 0) return 0.0f;
  if (!ACTORS_PRIORITY) return first.largest_leaf[0];
  const float leaf = powf(eta * largest + (1.0f - eta) * sum / (float)count + SMALLEST_PRIORITY, first.alpha);
  return is_finite(leaf) ? leaf : first.largest_leaf[0];
}

// Leaves of the windows that an iteration changed. Windows whose last row is now written become drawable. Windows that
// begin are not drawable yet, and those that lay in their slots before are gone. The next row may begin a window too,
// since its memory is already kept. So are those gone that lie in the AHEAD rows after it, which are written while others
// are drawn. `touched` receives the first of these windows and their number, `generation` how
// often a slot has been reused.
extern "C" __global__ void set_first_leaves(Ring ring, FirstPriority first, const unsigned char* takes_part,
                                            const int64_t* written, float* leaves, int* touched, int* generation,
                                            float gamma, float eta, int num_envs) {
  const int64_t end = written[0], incomplete = end - NUM_STEPS - LENGTH + 1;  // the first start that was so before
  const int64_t oldest = (incomplete + ROWS + STRIDE - 1) / STRIDE - SLOTS;
  const int block = num_envs * AGENTS;
  if (first_lane() == 0) {
    touched[0] = (int)((oldest + SLOTS) % SLOTS);
    touched[1] = TOUCHED;
  }
  for (int i = first_lane(); i < TOUCHED * block; i += all_lanes(num_envs)) {
    const int64_t window = oldest + i / block, start = window * STRIDE;
    if (start < 0 || start > end + AHEAD) continue;
    const int slot = (int)(window % SLOTS), place = i % block;
    const bool complete = start + LENGTH <= end;
    leaves[(size_t)slot * block + place] =
        complete ? first_leaf(ring, takes_part, first, slot * STRIDE, place / AGENTS, place % AGENTS, gamma, eta) : 0.0f;
    if (place == 0) generation[slot] = (int)(window / SLOTS);
  }
}

// ---- a batch -----------------------------------------------------------------------------------------------------------
// The windows that were drawn.
struct Drawn {
  const int* batch_items;
  const float* batch_shares;

  __device__ int agent(int i) const { return batch_items[i] % AGENTS; }
  __device__ int env(int i, int num_envs) const { return batch_items[i] / AGENTS % num_envs; }
  __device__ int slot(int i, int num_envs) const { return batch_items[i] / AGENTS / num_envs; }
  __device__ int row(int i, int t, int num_envs) const { return row_after(slot(i, num_envs) * STRIDE, t, ROWS); }
  // where nothing could be drawn there are zeros; nothing is learnt from them
  __device__ bool is_drawn(int i) const { return batch_shares[i] > 0.0f; }
};

// For each trained step: its return, the discount of what follows, the step that follows, counted from the first trained
// one, and whether it is learnt.
extern "C" __global__ void gather(Ring ring, Drawn drawn, const unsigned char* takes_part, float* batch_returns,
                                  float* batch_discounts, int64_t* batch_next, bool* batch_learnt, float gamma,
                                  int num_envs) {
  for (int k = first_lane(); k < TRAIN * BATCH; k += all_lanes(num_envs)) {
    const int t = k / BATCH, i = k % BATCH, env = drawn.env(i, num_envs), agent = drawn.agent(i);
    const int row = drawn.row(i, BURN_IN + t, num_envs);
    const bool learnt = drawn.is_drawn(i) && is_learnt(ring, takes_part, row, env, agent);
    const Transition found = transition_of(ring, takes_part, row, env, agent, gamma);
    batch_learnt[k] = learnt;
    batch_returns[k] = learnt ? found.sum : 0.0f;
    batch_discounts[k] = learnt ? found.discount : 0.0f;
    batch_next[k] = t + (found.next - row + ROWS) % ROWS;
  }
}

// The flags of the step that lies `back` steps before step t of a window; 0 before its first.
__device__ inline unsigned char flags_before(const Ring& ring, const Drawn& drawn, const unsigned char* takes_part, int i,
                                             int t, int back, int num_envs) {
  if (t < back) return 0;
  return takes_part[ring.item(drawn.row(i, t - back, num_envs), drawn.env(i, num_envs), drawn.agent(i))];
}

// An agent's memory before the window's first step, and the steps before which it is emptied: behind a cut a step later.
extern "C" __global__ void gather_memory(Ring ring, Drawn drawn, const unsigned char* takes_part,
                                         const float* window_states, const bool* window_cuts, float* batch_states,
                                         bool* batch_starts, int num_envs) {
  for (int k = first_lane(); k < BATCH * STATE_SIZE; k += all_lanes(num_envs)) {
    const size_t item = (size_t)drawn.batch_items[k / STATE_SIZE];
    batch_states[k] = drawn.is_drawn(k / STATE_SIZE) ? window_states[item * STATE_SIZE + k % STATE_SIZE] : 0.0f;
  }
  for (int k = first_lane(); k < LENGTH * BATCH; k += all_lanes(num_envs)) {
    const int t = k / BATCH, i = k % BATCH;
    batch_starts[k] = (flags_before(ring, drawn, takes_part, i, t, 1, num_envs) & (ENDS | CUT_OFF)) ||
                      (flags_before(ring, drawn, takes_part, i, t, 2, num_envs) & CUT_ALONE) ||
                      (CUTTING && t == 1 && window_cuts[drawn.batch_items[i]]);
  }
}

// Rows that do not count may hold any numbers. Those that are not finite must not reach a memory.
template <bool FINITE, typename Number>
__device__ void gather_seen(const Ring& ring, const Drawn& drawn, const Number* observations, Number* batch_observations) {
  const int num_envs = ring.num_envs;
  copy_frames<LENGTH * BATCH, ENTRIES, FINITE>(batch_observations, num_envs, [&](int k) -> const Number* {
    const int t = k / BATCH, i = k % BATCH;
    if (!drawn.is_drawn(i)) return nullptr;
    return observations + ring.item(drawn.row(i, t, num_envs), drawn.env(i, num_envs), drawn.agent(i)) * ENTRIES;
  });
}

extern "C" __global__ void gather_observations(Ring ring, Drawn drawn, const float* ring_observations,
                                               float* batch_observations) {
  gather_seen<LEAVING || MASKED>(ring, drawn, ring_observations, batch_observations);
}

extern "C" __global__ void gather_bytes(Ring ring, Drawn drawn, const unsigned char* ring_observations,
                                        unsigned char* batch_observations) {
  gather_seen<false>(ring, drawn, ring_observations, batch_observations);
}

// The actions of the trained steps, ACTION_SIZE choices each.
extern "C" __global__ void gather_choices(Ring ring, Drawn drawn, const int* ring_actions, int* batch_actions) {
  const int num_envs = ring.num_envs;
  for (int k = first_lane(); k < TRAIN * BATCH * ACTION_SIZE; k += all_lanes(num_envs)) {
    const int place = k / ACTION_SIZE, i = place % BATCH, row = drawn.row(i, BURN_IN + place / BATCH, num_envs);
    const size_t item = ring.item(row, drawn.env(i, num_envs), drawn.agent(i));
    batch_actions[k] = drawn.is_drawn(i) ? ring_actions[item * ACTION_SIZE + k % ACTION_SIZE] : 0;
  }
}

// The action masks of the trained steps, and of the N_STEP steps after them.
extern "C" __global__ void gather_masks(Ring ring, Drawn drawn, const bool* ring_action_mask, bool* batch_mask) {
  const int num_envs = ring.num_envs;
  for (int k = first_lane(); k < (TRAIN + N_STEP) * BATCH * CHOICES; k += all_lanes(num_envs)) {
    const int place = k / CHOICES, i = place % BATCH, row = drawn.row(i, BURN_IN + place / BATCH, num_envs);
    const size_t item = ring.item(row, drawn.env(i, num_envs), drawn.agent(i));
    batch_mask[k] = ring_action_mask[item * CHOICES + k % CHOICES];
  }
}
