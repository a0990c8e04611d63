// A program is what one native call does: a list of steps that each worker takes its share of the envs through.
// managers/cpu/runtime.py mirrors these structs.
#pragma once

#include <string.h>

#include "abi.hpp"

extern "C" {

enum ww_step_kind {
  WW_BEGIN = 0,        // a world step begins: timestep and clock advance, ends are cleared, every env takes part
  WW_BEGIN_RESET = 1,  // the envs that the caller marked active are reset: timestep 0, clock advances, ends are cleared
  WW_KERNEL = 2,       // runs a kernel
  WW_END = 3,          // the envs that ended become the active ones, their timestep is 0 again
  WW_COPY = 4,         // copies a part of each env
  WW_KEEP_FINAL = 5,   // keeps the final observation of each env that was truncated, in its next free slot
};

struct ww_step {
  int kind;
  int active_only;  // kernels and copies: the active envs, or all
  // WW_KERNEL
  const ww_kernel* kernel;
  void* const* args;
  unsigned threads;
  unsigned envs_per_block;
  int kernel_index;
  // WW_COPY and WW_KEEP_FINAL: `bytes` of each env, from source + env * source_stride to
  // target + env * bytes + *row * row_stride
  int slots;
  const char* source;
  char* target;
  uint64_t source_stride, bytes, row_stride;
  const int32_t* row;
  // WW_KEEP_FINAL: target is (num_envs, slots, bytes)
  int32_t* slot_rows;   // (num_envs, slots): the row that each slot belongs to
  int32_t* slots_used;  // (num_envs,)
};

struct ww_program {
  ww_context context;
  const ww_step* steps;
  int num_steps;
  unsigned max_workers;
  unsigned granularity;  // shares are multiples of so many envs
  unsigned max_threads;  // of a block, over all kernels
  int timeout_milliseconds;  // kernels that make no progress for so long are ended
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

static inline void begin(const ww_context& world, unsigned first, unsigned end) {
  for (unsigned env = first; env < end; env++) world.timestep[env]++;
  for (unsigned env = first; env < end; env++) world.clock[env]++;
  memset(world.terminated + first, 0, end - first);
  memset(world.truncated + first, 0, end - first);
  memset(world.active + first, 1, end - first);
}

static inline void begin_reset(const ww_context& world, unsigned first, unsigned end) {
  for_active(world.active, first, end, [&](unsigned a, unsigned b) {
    for (unsigned env = a; env < b; env++) world.clock[env]++;
    memset(world.timestep + a, 0, (b - a) * sizeof *world.timestep);
    memset(world.terminated + a, 0, b - a);
    memset(world.truncated + a, 0, b - a);
  });
}

static inline void end_step(const ww_context& world, unsigned first, unsigned end) {
  for (unsigned env = first; env < end; env++)
    world.active[env] = (bool)((unsigned)world.terminated[env] | (unsigned)world.truncated[env]);
  for_active(world.active, first, end,
             [&](unsigned a, unsigned b) { memset(world.timestep + a, 0, (b - a) * sizeof *world.timestep); });
}

static inline void copy(const ww_context& world, const ww_step& step, unsigned first, unsigned end) {
  char* target = step.target + (step.row ? (uint64_t)*step.row * step.row_stride : 0);
  const auto range = [&](unsigned a, unsigned b) {
    if (step.source_stride == step.bytes) {
      memcpy(target + a * step.bytes, step.source + a * step.bytes, (b - a) * step.bytes);
      return;
    }
    for (unsigned env = a; env < b; env++)
      memcpy(target + env * step.bytes, step.source + env * step.source_stride, step.bytes);
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

// Takes envs first .. end-1 through all steps.
static inline void run_steps(const ww_program& program, const ww_launch& launch, unsigned first, unsigned end) {
  const ww_context& world = program.context;
  ww_this_thread.context = &world;
  ww_this_thread.kernel = nullptr;
  for (int i = 0; i < program.num_steps; i++) {
    const ww_step& step = program.steps[i];
    switch (step.kind) {
      case WW_BEGIN: begin(world, first, end); break;
      case WW_BEGIN_RESET: begin_reset(world, first, end); break;
      case WW_KERNEL: run_kernel(world, step, launch, first, end); break;
      case WW_END: end_step(world, first, end); break;
      case WW_COPY: copy(world, step, first, end); break;
      case WW_KEEP_FINAL: keep_final(world, step, first, end); break;
    }
  }
}

}  // namespace ww
