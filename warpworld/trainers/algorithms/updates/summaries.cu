// Diagnostics of the updates of up to four policies in one launch: means over minibatches, and how much of the returns' variance the
// values explain.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for what there is not. The first `num_envs`
// envs are blocks that work. The work of a policy is cut into items: parts of its rows, and the means. Each item writes to places of
// its own. The block that ends a policy's last item adds up what parts found, in their order, so that results do not depend on which
// block did what. No block waits for another one.
#include "lane_sums.cuh"

// How many numbers there are, their mean, and the sum of their squared distances from it.
struct Spread {
  double count, mean, squares;
};

// What a block shares.
struct Shared {
  Sums sums;
  Spread of_lanes[LANES];
  bool is_last;
};

// The passes of an update that have ended, and with `diagnostics` its end.
// found (minibatches, pitch): of each minibatch, `of_pass` to a pass; columns (names,) int32: where a name's number is, 0 for numbers in
// the order of names. done (1,) int64: passes so far; means (3, names): the sum of passes' means, the means of the latest pass, and
// the latest minibatch's numbers. returns, values (rows,), and mask (rows,) bool; spreads (parts, 2) Spread: of what is not explained,
// and of the returns. counter (1,) int32: 0 between launches. diagnostics (names + 1,): means, and the explained part of the variance.
struct Ended {
  int64_t found, columns, done, means, returns, values, mask, spreads, counter, diagnostics;
  int minibatches, of_pass, pitch, names, rows, parts;

  __device__ int items() const { return parts + (found ? 1 : 0); }
};

// Of the numbers of both (Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance", equation 2.1): the squares of
// equal numbers are 0 without rounding.
__device__ inline Spread joined(const Spread& some, const Spread& others) {
  if (some.count == 0.0) return others;
  if (others.count == 0.0) return some;
  const double count = some.count + others.count, apart = others.mean - some.mean;
  return Spread{count, some.mean + apart * (others.count / count),
                some.squares + others.squares + apart * apart * (some.count * others.count / count)};
}

// Of the numbers of all lanes, for each lane.
__device__ inline Spread join_lanes(Shared& shared, const Spread& own) {
  sync_env();  // orders the reading of the numbers before
  shared.of_lanes[lane()] = own;
  for (int stride = LANES / 2; stride > 0; stride /= 2) {
    sync_env();  // orders the halves before they are joined
    if (lane() < stride && lane() + stride < num_lanes())
      shared.of_lanes[lane()] = joined(shared.of_lanes[lane()], shared.of_lanes[lane() + stride]);
  }
  sync_env();  // orders the result before it is read
  return shared.of_lanes[0];
}

// Numbers of a lane, as distances from the first of them.
struct Distances {
  double count = 0.0, first = 0.0, sum = 0.0, squares = 0.0;

  __device__ void add(float number) {
    if (count == 0.0) first = (double)number;
    const double distance = (double)number - first;
    count += 1.0, sum += distance, squares += distance * distance;
  }
  __device__ Spread spread() const {
    if (count == 0.0) return Spread{0.0, 0.0, 0.0};
    return Spread{count, first + sum / count, squares - sum * sum / count};
  }
};

// A part of the rows.
__device__ inline void take_rows(const Ended& ended, int part, Shared& shared) {
  const float *returns = (const float*)ended.returns, *values = (const float*)ended.values;
  Distances unexplained, whole;
  for (int row = part * num_lanes() + lane(); row < ended.rows; row += ended.parts * num_lanes()) {
    if (ended.mask && !((const bool*)ended.mask)[row]) continue;
    unexplained.add(returns[row] - values[row]);
    whole.add(returns[row]);
  }
  const Spread of_unexplained = join_lanes(shared, unexplained.spread()), of_whole = join_lanes(shared, whole.spread());
  Spread* found = (Spread*)ended.spreads + 2 * part;
  if (lane() == 0) found[0] = of_unexplained, found[1] = of_whole;
}

// The means.
__device__ inline void take_means(const Ended& ended, Sums& sums) {
  const int names = ended.names, latest = ended.minibatches - ended.of_pass;
  float* means = (float*)ended.means;
  for (int name = 0; name < names; ++name) {
    const float* found = (const float*)ended.found + (ended.columns ? ((const int*)ended.columns)[name] : name);
    double some = 0.0, of_latest = 0.0;
    for (int i = lane(); i < ended.minibatches; i += num_lanes()) {
      const double number = (double)found[i * ended.pitch];
      some += number;
      of_latest += i < latest ? 0.0 : number;
    }
    some = sum_of_lanes(sums, some), of_latest = sum_of_lanes(sums, of_latest);
    if (lane() > 0) continue;
    means[name] += (float)(some / (double)ended.of_pass);
    means[names + name] = (float)(of_latest / (double)ended.of_pass);
    means[2 * names + name] = found[(ended.minibatches - 1) * ended.pitch];
  }
  if (lane() == 0) *(int64_t*)ended.done += ended.minibatches / ended.of_pass;
}

// The diagnostics of the update, once all items are done.
__device__ inline void end(const Ended& ended, Shared& shared) {
  Spread some[2] = {};
  for (int part = lane(); part < ended.parts; part += num_lanes())
    for (int i = 0; i < 2; ++i) some[i] = joined(some[i], ((const Spread*)ended.spreads)[2 * part + i]);
  const Spread unexplained = join_lanes(shared, some[0]), whole = join_lanes(shared, some[1]);
  float* diagnostics = (float*)ended.diagnostics;
  if (lane() == 0) diagnostics[ended.names] = whole.squares > 0.0 ? (float)(1.0 - unexplained.squares / whole.squares) : 0.0f;
  for (int name = lane(); name < ended.names; name += num_lanes())
    diagnostics[name] = ((const float*)ended.means)[name] / (float)*(const int64_t*)ended.done;
}

// Whether all items of a policy are done with the one that the block ends.
__device__ inline bool is_last(const Ended& ended, Shared& shared) {
  sync_env();  // orders all lanes' writing before the count
  if (lane() == 0) {
    int* counter = (int*)ended.counter;
    __threadfence();  // orders what the block wrote before the count, for all blocks
    shared.is_last = atomicAdd(counter, 1) == ended.items() - 1;
    if (shared.is_last) *counter = 0;
    __threadfence();  // orders the count before what is read behind it, also in other lanes: a barrier follows
  }
  sync_env();  // orders the answer before it is read
  return shared.is_last;
}

// Takes items of a policy, from `item` on every `stride`th; returns the number in the next policy's.
__device__ inline int take_items(const Ended& ended, Shared& shared, int item, int stride) {
  for (; item < ended.items(); item += stride) {
    if (item < ended.parts)
      take_rows(ended, item, shared);
    else
      take_means(ended, shared.sums);
    if (is_last(ended, shared) && ended.diagnostics) end(ended, shared);
  }
  return item - ended.items();
}

// A policy that takes no part is all zeros.
extern "C" __global__ void summarise(Ended first, Ended second, Ended third, Ended fourth, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Shared, shared, 1);
  int item = take_items(first, shared[0], env_id(), num_envs);
  item = take_items(second, shared[0], item, num_envs);
  item = take_items(third, shared[0], item, num_envs);
  take_items(fourth, shared[0], item, num_envs);
}
