// A program is what one native call does: a list of steps that each worker takes its share of the envs through.
// managers/cpu/native_runtime.py mirrors these structs.
#pragma once

#include <string.h>

#include "abi.hpp"

extern "C" {

enum ww_step_kind {
  WW_BEGIN = 0,        // a world step begins: see begin_step
  WW_BEGIN_RESET = 1,  // the envs that the caller marked active are reset: timestep 0, clock advances, ends are cleared
  WW_KERNEL = 2,       // runs a kernel
  WW_END = 3,          // the envs that are reset in this step become the active ones, their timestep is 0 again
  WW_COPY = 4,         // copies a part of each env
  WW_KEEP_FINAL = 5,   // keeps the final observation of each env that was truncated, in its next free slot
  WW_CHECK_ACTIONS = 6,  // before all else: ends the program where an action is out of its bounds
};

struct ww_step {
  int kind;
  int active_only;  // kernels and copies: the active envs, or all; WW_BEGIN: only active envs take part
  // WW_KERNEL
  const ww_kernel* kernel;
  void* const* args;
  unsigned threads;
  unsigned envs_per_block;
  int kernel_index;
  // WW_COPY and WW_KEEP_FINAL: `bytes` of each env, from source + env * source_stride to
  // target + env * target_stride + *row * row_stride
  int slots;
  const char* source;
  char* target;
  uint64_t source_stride, target_stride, bytes, row_stride;
  const int32_t* row;
  // WW_KEEP_FINAL: target is (num_envs, slots, bytes)
  int32_t* slot_rows;   // (num_envs, slots): the row that each slot belongs to
  int32_t* slots_used;  // (num_envs,)
  // WW_CHECK_ACTIONS: source is (num_envs, entries), of int32 or float
  const void *low, *high;  // (entries,) of the same type
  int entries, is_float;
};

struct ww_program {
  ww_context context;
  const ww_step* steps;
  int num_steps;
  unsigned max_workers;
  unsigned granularity;  // shares are multiples of this many envs
  unsigned max_threads;  // of a block, over all kernels
  int timeout_milliseconds;  // kernels that make no progress for this long are ended
  // owned by the runtime
  unsigned launches;
  float nanoseconds_per_env;
  ww_error error;
};
}

namespace ww {

// Calls f(first, end) for every run of active envs.
template <class F>
static inline void for_active(const bool* active, unsigned first, unsigned end, F f) {
  unsigned env = first;
  while (env < end) {
    uint64_t eight;
    if (env + 8 <= end && (memcpy(&eight, active + env, 8), eight == 0)) {
      env += 8;
      continue;
    }
    if (!active[env]) {
      env++;
      continue;
    }
    const unsigned start = env;
    while (env < end && active[env]) env++;
    f(start, env);
  }
}

// A step of all envs of a world that resets in the same step: the common one.
static inline void begin_all(const ww_context& world, unsigned first, unsigned end) {
  for (unsigned env = first; env < end; env++) world.timestep[env]++;
  for (unsigned env = first; env < end; env++) world.clock[env]++;
  memset(world.terminated + first, 0, end - first);
  memset(world.truncated + first, 0, end - first);
  memset(world.active + first, 1, end - first);
}

// Envs that take part are stepped, except those that have ended: the next step (WW_NEXT_STEP) or the caller
// (WW_DISABLED) resets them. Free of branches, so that the compiler vectorises it.
template <int autoreset, bool active_only>
static inline void begin_some(const ww_context& world, unsigned first, unsigned end) {
  uint8_t* __restrict active = (uint8_t*)world.active;
  uint8_t* __restrict terminated = (uint8_t*)world.terminated;
  uint8_t* __restrict truncated = (uint8_t*)world.truncated;
  uint8_t* __restrict resetting = (uint8_t*)world.resetting;
  int32_t* __restrict timestep = world.timestep;
  uint64_t* __restrict clock = world.clock;
  for (unsigned env = first; env < end; env++) {
    const uint8_t takes_part = active_only ? active[env] : 1, ended = terminated[env] | truncated[env];
    const uint8_t is_stepped = autoreset == WW_SAME_STEP ? takes_part : takes_part & (uint8_t)(ended ^ 1);
    const uint8_t is_reset = autoreset == WW_NEXT_STEP ? takes_part & ended : 0;
    const uint8_t moves = is_stepped | is_reset;
    timestep[env] += is_stepped;
    clock[env] += moves;
    terminated[env] &= (uint8_t)(moves ^ 1);
    truncated[env] &= (uint8_t)(moves ^ 1);
    active[env] = is_stepped;
    if (autoreset == WW_NEXT_STEP) resetting[env] = is_reset;
  }
}

static inline void begin(const ww_context& world, bool active_only, unsigned first, unsigned end) {
  switch (world.autoreset * 2 + active_only) {
    case WW_SAME_STEP * 2: return begin_all(world, first, end);
    case WW_SAME_STEP * 2 + 1: return begin_some<WW_SAME_STEP, true>(world, first, end);
    case WW_NEXT_STEP * 2: return begin_some<WW_NEXT_STEP, false>(world, first, end);
    case WW_NEXT_STEP * 2 + 1: return begin_some<WW_NEXT_STEP, true>(world, first, end);
    case WW_DISABLED * 2: return begin_some<WW_DISABLED, false>(world, first, end);
    case WW_DISABLED * 2 + 1: return begin_some<WW_DISABLED, true>(world, first, end);
  }
}

static inline void begin_reset(const ww_context& world, unsigned first, unsigned end) {
  for_active(world.active, first, end, [&](unsigned a, unsigned b) {
    for (unsigned env = a; env < b; env++) world.clock[env]++;
    memset(world.timestep + a, 0, (b - a) * sizeof *world.timestep);
    memset(world.terminated + a, 0, b - a);
    memset(world.truncated + a, 0, b - a);
  });
}

// The clock of an env advances once before each reset in every autoreset mode, so that its random numbers and its
// episodes are the same. With WW_NEXT_STEP it advanced when the step began.
static inline void end_step(const ww_context& world, unsigned first, unsigned end) {
  const bool same_step = world.autoreset == WW_SAME_STEP;
  if (same_step) {
    uint8_t* __restrict active = (uint8_t*)world.active;
    const uint8_t *__restrict terminated = (const uint8_t*)world.terminated,
                  *__restrict truncated = (const uint8_t*)world.truncated;
    for (unsigned env = first; env < end; env++) active[env] &= (uint8_t)(terminated[env] | truncated[env]);
  }
  else
    memcpy(world.active + first, world.resetting + first, end - first);
  for_active(world.active, first, end, [&](unsigned a, unsigned b) {
    for (unsigned env = a; env < b; env++) {
      asm volatile("");  // no vectors: runs of ended envs are short
      world.timestep[env] = 0;
      world.clock[env] += same_step;
    }
  });
}

static inline void copy(const ww_context& world, const ww_step& step, unsigned first, unsigned end) {
  char* target = step.target + (step.row ? (uint64_t)*step.row * step.row_stride : 0);
  const auto range = [&](unsigned a, unsigned b) {
    if (step.source_stride == step.bytes && step.target_stride == step.bytes) {
      memcpy(target + a * step.bytes, step.source + a * step.bytes, (b - a) * step.bytes);
      return;
    }
    for (unsigned env = a; env < b; env++)
      memcpy(target + env * step.target_stride, step.source + env * step.source_stride, step.bytes);
  };
  if (step.active_only)
    for_active(world.active, first, end, range);
  else
    range(first, end);
}

static inline void keep_final(const ww_context& world, const ww_step& step, unsigned first, unsigned end) {
  for_active(world.active, first, end, [&](unsigned a, unsigned b) {
    for (unsigned env = a; env < b; env++) {
      if (world.terminated[env] || step.slots_used[env] >= step.slots) continue;
      const uint64_t slot = (uint64_t)env * step.slots + step.slots_used[env]++;
      memcpy(step.target + slot * step.bytes, step.source + env * step.source_stride, step.bytes);
      step.slot_rows[slot] = *step.row;
    }
  });
}

static inline void run_kernel(const ww_context& world, const ww_step& step, ww_launch launch, unsigned first,
                              unsigned end) {
  const unsigned per_block = step.envs_per_block, blocks = ((unsigned)world.num_envs + per_block - 1) / per_block;
  launch.args = step.args;
  launch.threads = step.threads;
  ww_this_thread.kernel = step.kernel->name;
  ww_this_thread.kernel_index = step.kernel_index;
  blockDim = {step.threads, 1, 1};
  gridDim = {blocks, 1, 1};
  if (!step.active_only)
    step.kernel->run(&launch, first / per_block, (end + per_block - 1) / per_block);
  else if (per_block == 1)
    for_active(world.active, first, end, [&](unsigned a, unsigned b) { step.kernel->run(&launch, a, b); });
  else
    for (unsigned env = first; env < end; env += per_block)
      if (memchr(world.active + env, 1, (env + per_block < end ? env + per_block : end) - env))
        step.kernel->run(&launch, env / per_block, env / per_block + 1);
}

template <class T>
static inline bool has_illegal(const ww_step& step, unsigned num_envs) {
  const T *actions = (const T*)step.source, *low = (const T*)step.low, *high = (const T*)step.high;
  const size_t entries = (size_t)step.entries;
  unsigned legal = 1;  // every comparison with NaN is false
  if (entries == 1) {
    const T least = *low, most = *high;
    for (size_t env = 0; env < num_envs; env++)
      legal &= (unsigned)(actions[env] >= least) & (unsigned)(actions[env] <= most);
  } else {
    for (size_t env = 0; env < num_envs; env++)
      for (size_t i = 0; i < entries; i++)
        legal &= (unsigned)(actions[env * entries + i] >= low[i]) & (unsigned)(actions[env * entries + i] <= high[i]);
  }
  return !legal;
}

// Whether a check of actions at the start of the program finds one out of bounds.
static inline bool refuses_actions(const ww_program& program) {
  const unsigned num_envs = (unsigned)program.context.num_envs;
  for (int i = 0; i < program.num_steps && program.steps[i].kind == WW_CHECK_ACTIONS; i++) {
    const ww_step& step = program.steps[i];
    if (step.is_float ? has_illegal<float>(step, num_envs) : has_illegal<int32_t>(step, num_envs)) return true;
  }
  return false;
}

// Takes envs first .. end-1 through all steps.
static inline void run_steps(const ww_program& program, const ww_launch& launch, unsigned first, unsigned end) {
  const ww_context& world = program.context;
  ww_this_thread.context = &world;
  ww_this_thread.kernel = nullptr;
  for (int i = 0; i < program.num_steps; i++) {
    const ww_step& step = program.steps[i];
    switch (step.kind) {
      case WW_BEGIN: begin(world, step.active_only, first, end); break;
      case WW_BEGIN_RESET: begin_reset(world, first, end); break;
      case WW_KERNEL: run_kernel(world, step, launch, first, end); break;
      case WW_END: end_step(world, first, end); break;
      case WW_COPY: copy(world, step, first, end); break;
      case WW_KEEP_FINAL: keep_final(world, step, first, end); break;
      case WW_CHECK_ACTIONS: break;  // made before the program began
    }
  }
}

}  // namespace ww
