// Adds up a metric of the environment's own over the episodes that ended in a rollout. One launch per metric and rollout:
// every agent, or agent 0 for its env, walks through its rows.
//
// Bound by position. Read: the metric's rows (num_steps, envs, NUM_AGENTS), or (num_steps, envs) with `per_env`; ends
// (num_steps, envs), and with `masked` which agents take part (num_steps, envs, NUM_AGENTS). Written, one entry per
// agent or env: the running episode so far, kept from rollout to rollout, and sums over the episodes that ended, to which
// those of this rollout are added.
#include <warpworld.cuh>

enum Metric { MEAN, SUM, LAST };  // of an episode's rows; in the order of METRICS

// The arrays that mark which rows count and where an episode ends.
struct Rows {
  const bool* terminated;
  const bool* truncated;
  const bool* agent_mask;
  bool masked;
  int num_steps;
  int num_envs;
};

struct Sums {
  double* running;    // sum of the running episode's rows, or the last of them
  int* running_rows;  // how many of them count
  double* finished;   // sum of the metric over the episodes that ended
  int* episodes;      // how many of those have a row that counts
};

// 1 / count, to the last bit or the one before it: four of Newton's steps from a guess that takes the exponent's bits from
// a constant, each of which doubles the correct digits. nvcc makes a call of a division, and spills registers
// around it.
__device__ double reciprocal(int count) {
  double found = (double)__uint_as_float(0x7EF311C7u - __float_as_uint((float)count));
#pragma unroll
  for (int step = 0; step < 4; ++step) found *= 2.0 - (double)count * found;
  return found;
}

template <class Value>
__device__ void add_up(const Value* values, Rows rows, Sums sums, int metric, bool per_env) {
  if (!is_active() || (per_env && agent_id() != 0)) return;
  const int env = env_id(), agent = agent_index(), i = per_env ? env : agent, width = per_env ? 1 : NUM_AGENTS;
  double running = sums.running[i], finished = 0.0;
  int counted = sums.running_rows[i], episodes = 0;
#pragma unroll 1  // unrolled, it spills registers
  for (int t = 0; t < rows.num_steps; ++t) {
    const size_t row = (size_t)t * rows.num_envs;
    if (!rows.masked || rows.agent_mask[row * NUM_AGENTS + agent]) {
      const double value = (double)values[row * width + i];
      running = metric == LAST ? value : running + value;
      counted++;
    }
    if (!rows.terminated[row + env] && !rows.truncated[row + env]) continue;
    if (counted > 0) {
      finished += metric == MEAN ? running * reciprocal(counted) : running;
      episodes++;
    }
    running = 0.0;
    counted = 0;
  }
  sums.running[i] = running;
  sums.running_rows[i] = counted;
  sums.finished[i] += finished;
  sums.episodes[i] += episodes;
}

extern "C" __global__ void add_floats(const float* values, Rows rows, Sums sums, int metric, bool per_env) {
  add_up(values, rows, sums, metric, per_env);
}

extern "C" __global__ void add_ints(const int* values, Rows rows, Sums sums, int metric, bool per_env) {
  add_up(values, rows, sums, metric, per_env);
}

extern "C" __global__ void add_bools(const bool* values, Rows rows, Sums sums, int metric, bool per_env) {
  add_up(values, rows, sums, metric, per_env);
}
