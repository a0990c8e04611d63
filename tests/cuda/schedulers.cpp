// The cpu backend's schedulers, worker pool and fault handling without Python, so that they can be built with any flags, for
// another processor, or with a sanitizer. Compiled with WW_WARP_SCHEDULER for the general scheduler. Prints what is wrong and
// exits with 1, or prints "ok".
#define NUM_AGENTS 37
#define WW_MAX_THREADS_PER_ENV 37

#include "cpu/module.hpp"
#include "warpworld.cuh"

constexpr int num_envs = 29, num_rounds = 12;

__device__ uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return x ^ x >> 16;
}

// Agents leave at different rounds; nobody gets to a barrier in every fifth env, and agent 0 does not in every third.
__device__ bool leaves(int env, int agent, int round) {
  if (env % 5 == 4) return true;
  if (env % 3 == 2 && agent == 0) return true;
  return mixed((uint32_t)(env * 4096 + agent * 64 + round + 1)) % 16 == 0;
}

struct Agent {
  uint32_t state;
  float sum;
  double average;
  void begin(int env, int agent) { state = mixed((uint32_t)(env * 100 + agent)), sum = 0.0f, average = 1.0; }
  void meet(uint32_t other) {
    state = mixed(state ^ other);
    sum += (float)(state >> 8) * 5.9604644775390625e-8f;
    average = 0.5 * average + sum;
  }
};

extern "C" __global__ void mingle(Agent* agents) {
  ENV_SHARED(uint32_t, board, NUM_AGENTS);
  Agent me;
  me.begin(env_id(), agent_id());
  board[agent_id()] = me.state;
  for (int round = -1; round < num_rounds; ++round) {
    if (leaves(env_id(), agent_id(), round)) break;
    sync_env();
    const uint32_t other = board[(agent_id() + round + 2) % NUM_AGENTS];
    sync_env();
    me.meet(other);
    board[agent_id()] = me.state;
  }
  agents[agent_index()] = me;
}

// One thread an env, in a file where others have more.
extern "C" __global__ void count(int* visits) {
  __syncthreads();
  atomicAdd(&visits[0], 1);
  atomicAdd(&visits[1 + env_id() % 3], env_id());
}

#ifdef WW_WARP_SCHEDULER
extern "C" __global__ void vote(uint32_t* votes, int* sums) {
  if (agent_id() % 7 == 3) return;
  int sum = agent_id() + env_id();
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
  votes[agent_index()] = __ballot_sync(0xFFFFFFFFu, agent_id() % 2 == 0);
  sums[agent_index()] = sum;
}
#endif

__device__ int deep(volatile int* depth, int n) {
  volatile int here[64];
  here[n & 63] = n;
  return n == 0 ? 0 : deep(depth, n - 1) + here[n & 63] + *depth;
}

extern "C" __global__ void fail(int* depth, int mode, int late) {
  if (late) sync_env();
  if (env_id() == 3 && agent_id() == 2) {
    if (mode == WW_ASSERTION) assert(depth == nullptr);
    if (mode == WW_FAULT) *(volatile int*)16 = 1;
    if (mode == WW_STACK_OVERFLOW) *depth += deep(depth, 100000);
    if (mode == WW_TIMEOUT)
      while (*(volatile int*)depth == 0) {
      }
    if (mode == WW_DIVERGED) __syncthreads();
  }
  sync_env();
}

WW_KERNEL(mingle, mingle, 37)
WW_KERNEL(count, count, 1)
WW_KERNEL(fail, fail, 37)
#ifdef WW_WARP_SCHEDULER
WW_KERNEL(vote, vote, 37)
#endif

#include "cpu/runtime.cpp"

static int num_wrong;

static void check(bool right, const char* what, unsigned workers) {
  if (right) return;
  num_wrong++;
  fprintf(stdout, "wrong with %u workers: %s\n", workers, what);
}

struct Job {
  ww_step step{};
  ww_program program{};
  Job(const ww_kernel& kernel, void** args, unsigned threads, unsigned workers) {
    step.kind = WW_KERNEL;
    step.kernel = &kernel;
    step.args = args;
    step.threads = threads;
    step.envs_per_block = 1;
    program.context.num_envs = num_envs;
    program.steps = &step;
    program.num_steps = 1;
    program.max_workers = workers;
    program.granularity = 1;
    program.max_threads = threads;
    program.timeout_milliseconds = 30000;
    program.launches = 1;  // as if measured: shares of one env, and work for all workers
    program.nanoseconds_per_env = 1000;
  }
  int run() { return ww_run_program(&program); }
};

static void expected_mingle(Agent (&agents)[num_envs][NUM_AGENTS]) {
  for (int env = 0; env < num_envs; env++) {
    uint32_t board[NUM_AGENTS], other[NUM_AGENTS];
    bool here[NUM_AGENTS];
    for (int a = 0; a < NUM_AGENTS; a++) {
      agents[env][a].begin(env, a);
      board[a] = agents[env][a].state;
      here[a] = true;
    }
    for (int round = -1; round < num_rounds; round++) {
      for (int a = 0; a < NUM_AGENTS; a++) here[a] = here[a] && !leaves(env, a, round);
      for (int a = 0; a < NUM_AGENTS; a++) other[a] = board[(a + round + 2) % NUM_AGENTS];
      for (int a = 0; a < NUM_AGENTS; a++)
        if (here[a]) {
          agents[env][a].meet(other[a]);
          board[a] = agents[env][a].state;
        }
    }
  }
}

static void check_mingle(unsigned workers) {
  static Agent expected[num_envs][NUM_AGENTS], got[num_envs][NUM_AGENTS];
  expected_mingle(expected);
  void *agents = got, *args[] = {&agents};
  Job job(ww_kernel_mingle, args, NUM_AGENTS, workers);
  for (int i = 0; i < 20; i++) {
    memset((void*)got, 0, sizeof got);
    check(job.run() == 0, job.program.error.text, workers);
    for (int env = 0; env < num_envs; env++)
      for (int a = 0; a < NUM_AGENTS; a++)
        check(got[env][a].state == expected[env][a].state && got[env][a].sum == expected[env][a].sum &&
                  got[env][a].average == expected[env][a].average,
              "mingle", workers);
  }
}

static void check_count(unsigned workers) {
  int counts[4] = {};
  void *visits = counts, *args[] = {&visits};
  Job job(ww_kernel_count, args, 1, workers);
  for (int i = 0; i < 100; i++) check(job.run() == 0, job.program.error.text, workers);
  check(counts[0] == 100 * num_envs && counts[1] == 100 * 135 && counts[2] == 100 * 145 && counts[3] == 100 * 126,
        "count", workers);
}

static void check_faults(unsigned workers) {
  int zero = 0, mode, late;
  void *depth = &zero, *args[] = {&depth, &mode, &late};
  const int modes[] = {WW_ASSERTION, WW_FAULT, WW_STACK_OVERFLOW, WW_TIMEOUT, WW_DIVERGED, WW_OK};
  for (late = 0; late < 2; late++)
    for (int code : modes) {
      mode = code;
      Job job(ww_kernel_fail, args, NUM_AGENTS, workers);
      if (code == WW_TIMEOUT) job.program.timeout_milliseconds = 100;
      const int got = job.run();
      check(got == code, "code of a fault", workers);
      if (got != code) fprintf(stdout, "  %d instead of %d: %s\n", got, code, job.program.error.text);
      if (code && code != WW_DIVERGED)
        check(job.program.error.block == 3 && job.program.error.thread == 2, "place of a fault", workers);
      check_count(workers);
    }
  check_mingle(workers);
}

#ifdef WW_WARP_SCHEDULER
static void check_vote(unsigned workers) {
  static uint32_t votes[num_envs][NUM_AGENTS];
  static int sums[num_envs][NUM_AGENTS];
  void *v = votes, *s = sums, *args[] = {&v, &s};
  Job job(ww_kernel_vote, args, NUM_AGENTS, workers);
  check(job.run() == 0, job.program.error.text, workers);
  uint32_t expected[2] = {};
  for (int a = 0; a < NUM_AGENTS; a += 2)
    if (a % 7 != 3) expected[a / 32] |= 1u << a % 32;
  for (int env = 0; env < num_envs; env++)
    for (int a = 0; a < NUM_AGENTS; a++)
      if (a % 7 != 3) check(votes[env][a] == expected[a / 32], "vote", workers);
}
#endif

int main() {
  ww_prepare();
  for (unsigned workers : {1u, 3u}) {
    check_mingle(workers);
    check_count(workers);
#ifdef WW_WARP_SCHEDULER
    check_vote(workers);
#endif
#ifndef WW_WITHOUT_FAULTS
    check_faults(workers);
#endif
  }
  if (num_wrong == 0) fprintf(stdout, "ok\n");
  return num_wrong != 0;
}
