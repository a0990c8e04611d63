// Faults in kernels become errors: signals raised while a worker is inside a kernel end in a jump back to the worker, and a
// watchdog ends kernels that make no progress or that the user interrupts.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "abi.hpp"

namespace ww {

constexpr size_t page = 4096, stack_bytes = 64u << 10, stack_stride = stack_bytes + page;
constexpr int poll_milliseconds = 20, interrupt_grace_milliseconds = 1000;
static const int stop_signal = SIGRTMAX - 3;  // the watchdog's own

struct alignas(128) Worker {
  sigjmp_buf escape;
  volatile sig_atomic_t in_kernel;
  volatile unsigned progress;  // shares begun
  pthread_t thread;
  char* stacks;
  unsigned num_stacks;
  void* scheduler;
  void* signal_stack;
  // of the fault that was caught
  int fault_signal;
  char *fault_address, *fault_pc, *fault_sp;
};

static Worker workers[WW_MAX_WORKERS];
static __thread Worker* this_worker;
static ww_error* volatile current_error;  // of the launch that runs now
static std::atomic<bool> cancelled{false};
static std::atomic<int> timeout_milliseconds{30000};
static std::atomic<unsigned> launch_serial{0};  // odd while a launch runs
static volatile sig_atomic_t interrupts;        // Ctrl-C seen during this launch
static struct sigaction previous_action[NSIG];

static void record_error(int code, const char* file, int line, const char* text) {
  ww_error* error = current_error;
  cancelled.store(true);
  int none = WW_OK;
  if (!__atomic_compare_exchange_n(&error->code, &none, code, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  error->block = blockIdx.x;
  error->thread = threadIdx.x;
  error->file = file;
  error->line = line;
  error->kernel = ww_this_thread.kernel;
  error->pc = error->address = nullptr;
  snprintf(error->text, sizeof error->text, "%s", text);
}

// ---- signals ----------------------------------------------------------------------------------------------------------
static void saved_registers(void* context, Worker* worker) {
  const mcontext_t& machine = ((ucontext_t*)context)->uc_mcontext;
#if defined(__x86_64__)
  worker->fault_pc = (char*)machine.gregs[REG_RIP];
  worker->fault_sp = (char*)machine.gregs[REG_RSP];
#elif defined(__aarch64__)
  worker->fault_pc = (char*)machine.pc;
  worker->fault_sp = (char*)machine.sp;
#else
  (void)machine;
  worker->fault_pc = worker->fault_sp = nullptr;
#endif
}

static void call_previous(int signal_number, siginfo_t* info, void* context) {
  const struct sigaction& previous = previous_action[signal_number];
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal_number, info, context);
  } else if (previous.sa_handler == SIG_DFL) {
    if (signal_number == stop_signal) return;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  } else if (previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal_number);
  }
}

static void on_fault(int signal_number, siginfo_t* info, void* context) {
  Worker* worker = this_worker;
  if (!worker || !worker->in_kernel) return call_previous(signal_number, info, context);
  worker->in_kernel = 0;
  worker->fault_signal = signal_number;
  worker->fault_address = (char*)info->si_addr;
  saved_registers(context, worker);
  siglongjmp(worker->escape, 1);
}

static void on_interrupt(int signal_number, siginfo_t* info, void* context) {
  interrupts = interrupts + 1;
  call_previous(signal_number, info, context);
}

static void install(int signal_number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction current, ours;
  sigaction(signal_number, nullptr, &current);
  if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == handler) return;
  previous_action[signal_number] = current;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(signal_number, &ours, nullptr);
}

static void install_fault_handlers() {
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, stop_signal};
  for (int signal_number : signals) install(signal_number, on_fault);
}

// Makes the calling thread a worker: signals on it have a stack of their own and know whom they hit.
static void attach_thread(Worker& worker) {
  this_worker = &worker;
  worker.thread = pthread_self();
  static __thread void* signal_stack;
  if (!signal_stack) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_size = 64u << 10;
    stack.ss_sp = signal_stack = malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
  }
  if (!worker.scheduler) worker.scheduler = calloc(1, WW_SCHEDULER_BYTES);
}

// Called after the jump out of a kernel: says what it was.
static void explain_fault(Worker& worker) {
  char text[256];
  int code = WW_FAULT;
  const char* address = worker.fault_address;
  const bool memory = worker.fault_signal == SIGSEGV || worker.fault_signal == SIGBUS;
  const bool in_guard_page = worker.stacks && address >= worker.stacks &&
                             address < worker.stacks + worker.num_stacks * stack_stride &&
                             (size_t)(address - worker.stacks) % stack_stride < page;
  const bool near_stack_pointer = address > worker.fault_sp - (64 << 10) && address < worker.fault_sp + (4 << 10);
  if (worker.fault_signal == stop_signal && interrupts) {
    code = WW_INTERRUPTED;
    snprintf(text, sizeof text, "interrupted while it had not ended for a second");
  } else if (worker.fault_signal == stop_signal) {
    code = WW_TIMEOUT;
    snprintf(text, sizeof text, "did not end within %g s; is there an endless loop?", timeout_milliseconds.load() / 1e3);
  } else if (memory && (in_guard_page || near_stack_pointer)) {
    code = WW_STACK_OVERFLOW;
    snprintf(text, sizeof text,
             "stack overflow: local variables of one thread take more than %zu KiB; use ENV_SHARED or an array",
             stack_bytes >> 10);
  } else if (memory) {
    snprintf(text, sizeof text, "invalid memory access at address %p; an index is far out of bounds, or a pointer is bad",
             (const void*)address);
  } else if (worker.fault_signal == SIGFPE) {
    snprintf(text, sizeof text, "integer division by zero");
  } else {
    snprintf(text, sizeof text, "illegal instruction (undefined behaviour, or __builtin_trap)");
  }
  record_error(code, nullptr, 0, text);
  if (current_error->code == code && !current_error->pc) {
    current_error->pc = worker.fault_pc;
    current_error->address = worker.fault_address;
  }
}

// ---- watchdog ---------------------------------------------------------------------------------------------------------
static void stop_kernels() {
  for (Worker& worker : workers)
    if (worker.in_kernel) pthread_kill(worker.thread, stop_signal);
}

static unsigned total_progress() {
  unsigned total = 0;
  for (const Worker& worker : workers) total += worker.progress;
  return total;
}

// Costs a launch nothing but two increments of launch_serial: it looks 50 times a second whether the same launch still
// runs. Only then is Ctrl-C watched, so that a program's own handler is left alone otherwise.
static void* watch(void*) {
  unsigned serial = 0, progress = 0;
  int idle = 0, since_interrupt = 0;
  bool watching_interrupt = false;
  for (;;) {
    usleep(poll_milliseconds * 1000);
    const unsigned now = launch_serial.load();
    if (!(now & 1) || now != serial) {
      if (watching_interrupt) sigaction(SIGINT, &previous_action[SIGINT], nullptr);
      watching_interrupt = false;
      serial = now;
      progress = total_progress();
      idle = since_interrupt = 0;
      continue;
    }
    if (!watching_interrupt) {
      interrupts = 0;
      install(SIGINT, on_interrupt);
      watching_interrupt = true;
    }
    const unsigned progress_now = total_progress();
    idle = progress_now == progress ? idle + poll_milliseconds : 0;
    progress = progress_now;
    since_interrupt = interrupts ? since_interrupt + poll_milliseconds : 0;
    if (idle > timeout_milliseconds.load() || since_interrupt > interrupt_grace_milliseconds) {
      cancelled.store(true);
      stop_kernels();
    }
  }
  return nullptr;
}

// ---- stacks -----------------------------------------------------------------------------------------------------------
// A guard page below each stack: an overflow faults instead of running into the neighbour.
static void ensure_stacks(Worker& worker, unsigned count) {
  if (worker.num_stacks >= count) return;
  if (worker.stacks) munmap(worker.stacks, worker.num_stacks * stack_stride);
  void* memory = mmap(nullptr, count * stack_stride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "warpworld: no memory for the stacks of %u threads\n", count);
    abort();
  }
  worker.stacks = (char*)memory;
  worker.num_stacks = count;
  for (unsigned i = 0; i < count; i++) mprotect(worker.stacks + i * stack_stride, page, PROT_NONE);
}

}  // namespace ww

[[noreturn]] void ww_fail(int code, const char* file, int line, const char* text) {
  ww::record_error(code, file, line, text);
  ww::this_worker->in_kernel = 0;
  ww::this_worker->fault_signal = 0;
  siglongjmp(ww::this_worker->escape, 1);
}
