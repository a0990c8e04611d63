// Runs a kernel's blocks, one after the other, on the calling thread: in ascending order, or in a perturbed one. A fault in it is kept for the next call that
// synchronises, as on a GPU.
#pragma once

#include <stdio.h>

#include "runtime_names.hpp"
// after it, for the names
#include "cpu/faults.hpp"
#include "cpu/floats.hpp"
#include "cpu/watchdog.hpp"
#include "state.hpp"
#include "undefined_memory.hpp"

__thread ww_thread ww_this_thread;
__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace stand_in {

constexpr unsigned blocks_between_signs_of_life = 64;

static void after_fork() {
  state.forked = true;  // as CUDA's, a child's driver is of no use
  ww::forget_watchdog();
}

static void prepare_process() {
  static bool prepared;
  if (!prepared) {
    prepared = true;
    pthread_key_create(&ww::signal_stack_key, ww::free_signal_stack);
    pthread_atfork(nullptr, nullptr, after_fork);
  }
  // Each time: the cpu backend's runtime, loaded since, may have put its own in front, which pass a fault on only once.
  ww::install_fault_handlers();
}

static void make_progress(ww::Worker& worker) {
  worker.progress.store(worker.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

static void run_in_order(ww::Worker& worker, const stand_in_kernel& kernel, const ww_launch& launch, unsigned num_blocks) {
  for (unsigned first = 0; first < num_blocks; first += blocks_between_signs_of_life) {
    const unsigned end = first + blocks_between_signs_of_life;
    make_progress(worker);
    kernel.run(&launch, first, end < num_blocks ? end : num_blocks);
  }
}

// Each block of a launch once, at random; valid until the next call.
static const unsigned* shuffled_blocks(unsigned num_blocks) {
  static unsigned* blocks = nullptr;
  blocks = (unsigned*)realloc(blocks, num_blocks * sizeof(unsigned));
  for (unsigned i = 0; i < num_blocks; i++) {
    const unsigned place = draw_below(i + 1);
    blocks[i] = blocks[place];
    blocks[place] = i;
  }
  return blocks;
}

static void run_perturbed(ww::Worker& worker, const Function& function, const ww_launch& launch, unsigned num_blocks) {
  const unsigned* blocks = shuffled_blocks(num_blocks);
  for (unsigned i = 0; i < num_blocks; i++) {
    make_progress(worker);
    fill_before_block(function.module->shared, launch);
    function.kernel->run(&launch, blocks[i], blocks[i] + 1);
  }
}

// Not inlined: what is alive after the jump lies in the caller's frame.
__attribute__((noinline)) static void run_blocks(ww::Worker& worker, const Function& function, ww_launch launch,
                                                 unsigned num_blocks) {
  if (sigsetjmp(worker.escape, 0) != 0) {
    if (worker.fault_signal) ww::explain_fault(worker);
    return;
  }
  ww::enter_kernels(worker);
  if (is_perturbed())
    run_perturbed(worker, function, launch, num_blocks);
  else
    run_in_order(worker, *function.kernel, launch, num_blocks);
  ww::leave_kernels(worker);
}

// What CUDA calls it.
static int code_of(const ww_error& error, int signal_number) {
  switch (error.code) {
    case WW_OK: return success;
    case WW_ASSERTION: return assertion;
    case WW_TIMEOUT: return launch_timeout;
    case WW_FAULT: break;
    default: return launch_failed;
  }
  if (signal_number == SIGSEGV || signal_number == SIGBUS) return illegal_address;
  return signal_number == SIGILL ? misaligned_address : launch_failed;
}

static void tell_of_fault(const ww_error& error, const char* name, int code) {
  snprintf(state.fault, sizeof state.fault, "%s:%d: %s: block: [%u,0,0], thread: [%u,0,0] %.200s",
           error.file ? error.file : "", error.line, name, error.block, error.thread, error.text);
  if (code == assertion) fprintf(stderr, "%s\n", state.fault);  // as a GPU's driver does
}

// Returns what the kernel's fault is called, or success.
static int run_kernel(const Function& function, unsigned num_blocks, unsigned threads, const void* parameters,
                      size_t bytes) {
  alignas(64) char buffer[4096];  // CUDA copies them too
  memcpy(buffer, parameters, bytes);
  prepare_process();
  ww::Worker& worker = ww::workers[0];
  if (!worker.scheduler) worker.scheduler = calloc(1, WW_SCHEDULER_BYTES);
  ww::Stacks& stacks = worker.stacks[ww::this_lane];
  if (!worker.scheduler || !stacks.grow(threads)) return out_of_resources;
  ww::Launch& launch = ww::launches[ww::this_lane];
  ww::start_watchdog();
  ww::attach_thread(worker);
  ww_error error = {};
  launch.error = &error;
  launch.timeout_milliseconds.store(state.timeout_milliseconds, std::memory_order_relaxed);
  worker.fault_signal = 0;
  ww_this_thread = {nullptr, function.name, 0, 0, 1, worker.scheduler};
  blockDim = {threads, 1, 1};
  gridDim = {num_blocks, 1, 1};
  const unsigned floats = ww::float_control();
  ww::set_float_control(ww::standard_float_control);
  ww::begin_launch(launch);
  run_blocks(worker, function, {(void* const*)buffer, threads, stacks.base(), ww::stack_stride}, num_blocks);
  ww::end_launch(launch);
  ww::set_float_control(floats);
  ww::this_worker = nullptr;
  const int code = code_of(error, worker.fault_signal);
  if (code) tell_of_fault(error, function.name, code);
  return code;
}

}  // namespace stand_in
