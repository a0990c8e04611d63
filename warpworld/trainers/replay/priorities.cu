// Draws items of a ring with a probability in proportion to their leaf, and keeps sums of leaves for it.
//
// Arrays: leaves (items,): priority^alpha, 0 where an item cannot be drawn. sums_1 (items / FAN,) and sums_2
// (items / FAN^2,): sums of FAN numbers of the level below; sums_3: of FAN sums_2; prefix (items / FAN^2,): the
// running sum of sums_2. generation (blocks,): how often a block has been written. A sum is always added up anew, in one
// order, in double: there is no drift, there are no atomics, and equal leaves give equal draws on both backends and with
// any number of threads.
#include "replay.cuh"

struct Sizes {
  int items;   // leaves, of those behind the last block, too
  int blocks;  // of the ring
  int block;   // items in a block
  int batch;   // items in a draw

  __device__ int sums_1() const { return items / FAN; }
  __device__ int sums_2() const { return items / (FAN * FAN); }
  __device__ int sums_3() const { return (sums_2() + FAN - 1) / FAN; }
};

// Sum number `block`: of FAN numbers, or of fewer at the end.
template <typename Number>
__device__ double sum_of(const Number* numbers, int block, int count) {
  const int first = block * FAN, end = first + FAN < count ? first + FAN : count;
  double sum = 0.0;
  for (int i = first; i < end; ++i) sum += (double)numbers[i];
  return sum;
}

// ---- the best of a batch -----------------------------------------------------------------------------------------------
// The lanes of env 0 find the largest of a batch of numbers: each looks at a part of them, then one half of the lanes
// compares what it found with what the other half found, until one lane is left. A maximum does not depend on the order.
constexpr int MOST_LANES = 256;  // as in priorities.py

// The largest of the numbers that the lanes of an env have; lane 0 knows it then. `found` has room for all lanes.
__device__ float largest_of_lanes(float own, float* found) {
  found[lane()] = own;
  sync_env();  // all have written theirs
  for (int left = num_lanes(); left > 1; left = (left + 1) / 2) {
    const int other = lane() + (left + 1) / 2;
    if (other < left) found[lane()] = fmaxf(found[lane()], found[other]);
    sync_env();  // the first half has what the next round compares
  }
  return found[0];
}

// ---- new leaves of a batch that was drawn --------------------------------------------------------------------------
// batch_leaves receives (|error| + SMALLEST_PRIORITY)^alpha, 0 where that is not finite. Draws ascend, so equal items stand
// side by side: the first of them writes. Three kinds of leaves are not written: one that is not finite, one of a row that
// has been overwritten since the draw, and one of an item that cannot be drawn.
extern "C" __global__ void set_leaves(Sizes sizes, const int* batch_items, const int* batch_generation,
                                      const float* batch_errors, const int* generation, float* batch_leaves,
                                      float* leaves, float alpha, int num_envs) {
  for (int i = first_lane(); i < sizes.batch; i += all_lanes(num_envs)) {
    const int item = batch_items[i];
    const float leaf = powf(fabsf(batch_errors[i]) + SMALLEST_PRIORITY, alpha);
    batch_leaves[i] = is_finite(leaf) ? leaf : 0.0f;
    if (i > 0 && batch_items[i - 1] == item) continue;
    const bool is_same = generation[item / sizes.block] == batch_generation[i] && leaves[item] > 0.0f;
    if (is_same && is_finite(leaf)) leaves[item] = leaf;
  }
}

// The largest leaf of all that were ever set.
extern "C" __global__ void find_largest(Sizes sizes, const float* batch_leaves, float* largest_leaf) {
  if (env_id() != 0) return;
  ENV_SHARED(float, found, MOST_LANES);
  float largest = 0.0f;
  for (int i = lane(); i < sizes.batch; i += num_lanes()) largest = fmaxf(largest, batch_leaves[i]);
  largest = largest_of_lanes(largest, found);
  if (lane() == 0) largest_leaf[0] = fmaxf(largest_leaf[0], largest);
}

extern "C" __global__ void add_up_batch_1(Sizes sizes, const int* batch_items, const float* leaves, double* sums_1,
                                          int num_envs) {
  for (int i = first_lane(); i < sizes.batch; i += all_lanes(num_envs)) {
    const int block = batch_items[i] / FAN;
    if (i == 0 || batch_items[i - 1] / FAN != block) sums_1[block] = sum_of(leaves, block, sizes.items);
  }
}

extern "C" __global__ void add_up_batch_2(Sizes sizes, const int* batch_items, const double* sums_1, double* sums_2,
                                          int num_envs) {
  for (int i = first_lane(); i < sizes.batch; i += all_lanes(num_envs)) {
    const int block = batch_items[i] / (FAN * FAN);
    if (i == 0 || batch_items[i - 1] / (FAN * FAN) != block) sums_2[block] = sum_of(sums_1, block, sizes.sums_1());
  }
}

// ---- the sums over blocks that were written --------------------------------------------------------------------------
// The sums that cover a range of blocks: consecutive ones, and beyond the ring's end those from 0 on.
struct Touched {
  int first, count, from_0;

  __device__ int number(int k) const { return k < count ? first + k : k - count; }
};

// `touched` holds the first block and how many there are. A sum has `width` items.
__device__ Touched touched_sums(const Sizes& sizes, const int* touched, int width, int sums) {
  const int first = touched[0], end = first + touched[1], whole = end < sizes.blocks ? end : sizes.blocks;
  Touched found{first * sizes.block / width, 0, 0};
  found.count = (whole * sizes.block - 1) / width + 1 - found.first;
  if (end > sizes.blocks) found.from_0 = ((end - sizes.blocks) * sizes.block - 1) / width + 1;
  if (found.from_0 > found.first) found = Touched{0, sums, 0};  // each sum has one writer
  return found;
}

extern "C" __global__ void add_up_blocks_1(Sizes sizes, const int* touched, const float* leaves, double* sums_1,
                                           int num_envs) {
  const Touched sums = touched_sums(sizes, touched, FAN, sizes.sums_1());
  for (int k = first_lane(); k < sums.count + sums.from_0; k += all_lanes(num_envs))
    sums_1[sums.number(k)] = sum_of(leaves, sums.number(k), sizes.items);
}

extern "C" __global__ void add_up_blocks_2(Sizes sizes, const int* touched, const double* sums_1, double* sums_2,
                                           int num_envs) {
  const Touched sums = touched_sums(sizes, touched, FAN * FAN, sizes.sums_2());
  for (int k = first_lane(); k < sums.count + sums.from_0; k += all_lanes(num_envs))
    sums_2[sums.number(k)] = sum_of(sums_1, sums.number(k), sizes.sums_1());
}

// ---- the running sum ---------------------------------------------------------------------------------------------------
extern "C" __global__ void add_up_3(Sizes sizes, const double* sums_2, double* sums_3, int num_envs) {
  for (int i = first_lane(); i < sizes.sums_3(); i += all_lanes(num_envs))
    sums_3[i] = sum_of(sums_2, i, sizes.sums_2());
}

// Each lane adds the sums_3 before its own part, then walks through that part. The last number of a part is the base of
// the next, bit for bit, so the running sum never falls.
extern "C" __global__ void add_up_prefix(Sizes sizes, const double* sums_2, const double* sums_3, double* prefix,
                                         int num_envs) {
  const int count = sizes.sums_2();
  for (int part = first_lane(); part < sizes.sums_3(); part += all_lanes(num_envs)) {
    double base = 0.0, sum = 0.0;
    for (int i = 0; i < part; ++i) base += sums_3[i];
    for (int i = part * FAN; i < (part + 1) * FAN && i < count; ++i) {
      sum += sums_2[i];
      prefix[i] = base + sum;
    }
  }
}

// ---- drawing -----------------------------------------------------------------------------------------------------------
constexpr int PART = 8;  // numbers of FAN whose sum is looked at before they are

// See `descend`: number by number.
template <typename Number>
__device__ int step_down(const Number* numbers, double* rest) {
  int found = 0;
  double left = *rest, before = left;
  for (int k = 0; k < FAN; ++k) {
    const double number = (double)numbers[k];
    if (number > 0.0) {
      found = k;
      before = left;
      if (left < number) break;
    }
    left -= number;
  }
  *rest = before;
  return found;
}

// The index of the first of FAN numbers at which their running sum exceeds `rest`, less the numbers before it. It is never
// the index of a 0, unless all are 0. Nothing branches on a number, so that a core reads the next draw's meanwhile; they are
// gone through one by one only where rounding leads past the end.
template <typename Number>
__device__ int descend(const Number* numbers, double* rest) {
  const double given = *rest;
  double left = given, before = given;
  int part = 0, found = 0;
#pragma unroll
  for (int p = 0; p < FAN / PART; ++p) {
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < PART; ++k) sum += (double)numbers[p * PART + k];
    left -= sum;
    const bool is_before = left >= 0.0;  // and no later one is, once one is not
    part += is_before;
    before = is_before ? left : before;
  }
  const int first = (part < FAN / PART ? part : 0) * PART;
  left = before;
#pragma unroll
  for (int k = 0; k < PART; ++k) {
    left -= (double)numbers[first + k];
    const bool is_before = left >= 0.0;
    found += is_before;
    before = is_before ? left : before;
  }
  if (part == FAN / PART || found == PART || !(given >= 0.0)) return step_down(numbers, rest);
  *rest = before;
  return first + found;
}

// The first of so many parts of the running sum that exceeds `target`.
__device__ int part_of(const double* prefix, int parts, double target) {
  int low = 0;
  for (int left = parts - 1; left > 0;) {  // parts beyond `low` that it may be; the load is what takes time
    const int half = (left + 1) / 2;
    low = prefix[low + half - 1] > target ? low : low + half;
    left -= half;
  }
  return low;
}

// The same, where it is not before `low`: a few parts are between a draw and the next.
__device__ int part_from(const double* prefix, int parts, double target, int low) {
  while (low < parts - 1 && !(prefix[low] > target)) low++;
  return low;
}

// How many draws in a row a lane takes: where lanes take turns, each begins where the one before ended.
constexpr int FEW = LANES_SIDE_BY_SIDE ? 1 : 8;

// A batch of blocks of FAN leaves, with replacement: one from each of as many equal parts of the total (stratified), so
// that they ascend. Their random numbers are a function of the replay's key, the update's number, the process and the draw;
// 0xFFFE is no agent, so no env draws the same ones. batch_items receives the first item of each block, batch_rests what
// is left there of what was drawn.
extern "C" __global__ void draw_blocks(Sizes sizes, const float* leaves, const double* sums_1, const double* prefix,
                                       const uint64_t* key, const uint64_t* update, int* batch_items,
                                       double* batch_rests, int num_envs) {
  const uint32_t low = (uint32_t)update[0], high = (uint32_t)(update[0] >> 32);
  const int batch = sizes.batch, parts = sizes.sums_2();
  const double width = prefix[parts - 1] / batch;
  for (int few = first_lane(); few * FEW < batch; few += all_lanes(num_envs)) {
    double targets[FEW];
    for (int k = 0; k < FEW; ++k) {
      const ww_uint4 counter{(uint32_t)(few * FEW + k), (uint32_t)ww_world().first_env, low, 0xFFFEu | high << 16};
      const ww_uint4 words = ww_philox(counter, (uint32_t)key[0], (uint32_t)(key[0] >> 32));
      const double uniform = ((double)words.x + 0.5) * (1.0 / 4294967296.0);
      targets[k] = ((double)(few * FEW + k) + uniform) * width;
    }
    int part = part_of(prefix, parts, targets[0]);
    for (int k = 0; k < FEW && few * FEW + k < batch; ++k) {
      part = part_from(prefix, parts, targets[k], part);
      while (part > 0 && prefix[part] == prefix[part - 1]) part--;  // rounding may lead past the last leaf
      double rest = part > 0 ? targets[k] - prefix[part - 1] : targets[k];
      const int first = (part * FAN + descend(sums_1 + part * FAN, &rest)) * FAN;
      fetch(leaves + first);
      fetch(leaves + first + FAN / 2);
      batch_items[few * FEW + k] = first;
      batch_rests[few * FEW + k] = rest;
    }
  }
}

// The items in those blocks. batch_shares receives each item's probability, 0 where nothing is drawable.
extern "C" __global__ void draw_items(Sizes sizes, const float* leaves, const double* prefix, const int* generation,
                                      const double* batch_rests, int* batch_items, int* batch_generation,
                                      float* batch_shares, int num_envs) {
  const double total = prefix[sizes.sums_2() - 1];
  for (int i = first_lane(); i < sizes.batch; i += all_lanes(num_envs)) {
    double rest = batch_rests[i];
    const int item = batch_items[i] + descend(leaves + batch_items[i], &rest);
    batch_items[i] = item;
    batch_generation[i] = generation[item / sizes.block];
    batch_shares[i] = total > 0.0 ? (float)((double)leaves[item] / total) : 0.0f;
  }
}

// ---- weights -----------------------------------------------------------------------------------------------------------
// The smallest share of a batch; infinite where nothing could be drawn.
extern "C" __global__ void find_smallest(Sizes sizes, const float* batch_shares, float* smallest_share) {
  if (env_id() != 0) return;
  ENV_SHARED(float, found, MOST_LANES);
  float smallest = INFINITY;
  for (int i = lane(); i < sizes.batch; i += num_lanes())
    if (batch_shares[i] > 0.0f) smallest = fminf(smallest, batch_shares[i]);
  smallest = -largest_of_lanes(-smallest, found);
  if (lane() == 0) smallest_share[0] = smallest;
}

// The weights that make up for priorities, divided by the largest; 0 where nothing could be drawn.
extern "C" __global__ void weigh(Sizes sizes, const float* batch_shares, const float* smallest_share, const float* beta,
                                 float* batch_weights, int num_envs) {
  for (int i = first_lane(); i < sizes.batch; i += all_lanes(num_envs)) {
    const float share = batch_shares[i];
    batch_weights[i] = share > 0.0f ? powf(smallest_share[0] / share, beta[0]) : 0.0f;
  }
}

// Gives the next draw another number.
extern "C" __global__ void count_update(uint64_t* update) {
  if (first_lane() == 0) update[0] += 1;
}
