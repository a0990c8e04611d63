// Faults in kernels become errors: a signal raised while a worker is inside a kernel ends in a jump back to the worker,
// and the first error of a launch is what the caller gets.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include <atomic>

#include "abi.hpp"
#include "lines.hpp"
#include "stacks.hpp"

namespace ww {

// Threads that launch programs take turns within a lane: the threads that step worlds in the first, one that learns beside
// them in the second, those that send and receive single envs in the third (ready.hpp).
constexpr int num_lanes_of_process = 3;

struct alignas(128) Worker {
  sigjmp_buf escape;
  std::atomic<int> in_kernel;      // how this thread's faults are classified
  std::atomic<unsigned> progress;  // shares begun, and what functions say
  pthread_t thread;
  Stacks stacks[num_lanes_of_process];  // for the kernels of each lane
  void* scheduler;
  Lines lines;
  std::atomic<bool> printing;    // may hold a lock of the C library: the watchdog's signal has to wait
  std::atomic<bool> stop_asked;  // the signal arrived meanwhile
  // of the fault that was caught
  int fault_signal, fault_code;
  char *fault_address, *fault_pc, *fault_sp;
};

// The launch that runs in a lane now.
struct alignas(128) Launch {
  ww_error* volatile error;
  std::atomic<bool> cancelled{false};
  std::atomic<int> timeout_milliseconds{0};
  std::atomic<unsigned> serial{0};       // odd while it runs
  std::atomic<unsigned> stop_serial{0};  // the launch that the watchdog ends
  std::atomic<int> stop_code{WW_OK};     // and why
};

static Worker workers[WW_MAX_WORKERS];        // of the pool; the first is the thread that launches in the first lane,
static Worker other_callers[num_lanes_of_process - 1];  // and these those that launch in the others
static Worker long_worker;                    // steps envs that take long, see ready.hpp
static Launch launches[num_lanes_of_process];
static __thread Worker* this_worker;  // null outside of a launch
static __thread int this_lane;        // that the thread launches in; of a worker, whose launch it runs
static const int stop_signal = SIGRTMAX - 3;  // the watchdog's own
static struct sigaction previous_action[NSIG];

static void enter_kernels(Worker& worker) {
  worker.in_kernel.store(1, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

static void leave_kernels(Worker& worker) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  worker.in_kernel.store(0, std::memory_order_release);
}

static void record_error(int code, const char* file, int line, const char* text, void* pc = nullptr,
                         void* address = nullptr) {
  ww_error* error = launches[this_lane].error;
  launches[this_lane].cancelled.store(true, std::memory_order_relaxed);
  int none = WW_OK;
  if (!__atomic_compare_exchange_n(&error->code, &none, code, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  error->block = blockIdx.x;
  error->thread = threadIdx.x;
  error->file = file;
  error->line = line;
  error->kernel = ww_this_thread.kernel;
  error->pc = pc;
  error->address = address;
  const size_t length = strnlen(text, sizeof error->text - 1);  // no snprintf: little may be left of a fiber's stack
  memcpy(error->text, text, length);
  error->text[length] = 0;
}

// ---- signals -------------------------------------------------------------------------------------------------------
static void save_registers(void* context, Worker* worker) {
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

static bool has_handler(const struct sigaction& action) {
  return action.sa_flags & SA_SIGINFO || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

// Passes a signal that is not a kernel's to the handler that was installed before. If that handler raises the signal
// again, as Python's faulthandler does, it must not return here: the signal then has its default effect.
static void call_previous(int signal_number, siginfo_t* info, void* context) {
  static __thread bool calling;
  const struct sigaction& previous = previous_action[signal_number];
  if (!has_handler(previous) || calling) {
    if (signal_number == stop_signal) return;
    signal(signal_number, has_handler(previous) ? SIG_DFL : previous.sa_handler);
    raise(signal_number);
    return;
  }
  calling = true;
  if (previous.sa_flags & SA_SIGINFO)
    previous.sa_sigaction(signal_number, info, context);
  else
    previous.sa_handler(signal_number);
  calling = false;
}

static void on_fault(int signal_number, siginfo_t* info, void* context) {
  Worker* worker = this_worker;
  const Launch& launch = launches[this_lane];
  const bool late = signal_number == stop_signal && launch.stop_serial.load() != launch.serial.load();
  if (!worker || !worker->in_kernel.load(std::memory_order_relaxed) || late)
    return call_previous(signal_number, info, context);
  if (signal_number == stop_signal && worker->printing.load()) return worker->stop_asked.store(true);
  leave_kernels(*worker);
  worker->fault_signal = signal_number;
  worker->fault_code = info->si_code;
  worker->fault_address = (char*)info->si_addr;
  save_registers(context, worker);
  siglongjmp(worker->escape, 1);
}

static void install(int signal_number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction current, ours;
  sigaction(signal_number, nullptr, &current);
  if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == handler) return;
  previous_action[signal_number] = current;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  // Keep the program's choice of whether interrupted system calls restart; our own signal must not interrupt any.
  ours.sa_flags |= signal_number == stop_signal ? SA_RESTART : current.sa_flags & SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(signal_number, &ours, nullptr);
}

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, stop_signal};

static void install_fault_handlers() {
  for (int signal_number : fault_signals) install(signal_number, on_fault);
}

static uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
#endif
}
constexpr uint64_t ticks_to_trust = 50000;  // 15 to 25 microseconds of a processor, 50 of another clock

// Restores our handlers if others have replaced them. Python's faulthandler, enabled after the first program, would
// dump a traceback for a fault that becomes an error and raise the signal again; disabling it removes our handlers. The
// query costs a sixth of the shortest launch. It is made at every launch once such a handler has been seen, and
// otherwise only if some time has passed since the last one: launches in a row skip it, and Python cannot enable a
// handler in between.
static void keep_fault_handlers() {
  static std::atomic<uint64_t> asked{0};
  const uint64_t now = ticks();
  if (!has_handler(previous_action[SIGSEGV]) && now - asked.load(std::memory_order_relaxed) < ticks_to_trust) return;
  asked.store(now, std::memory_order_relaxed);
  struct sigaction current;
  sigaction(SIGSEGV, nullptr, &current);
  if (!(current.sa_flags & SA_SIGINFO) || current.sa_sigaction != on_fault) install_fault_handlers();
}

// ---- threads -------------------------------------------------------------------------------------------------------
static pthread_key_t signal_stack_key;

static void free_signal_stack(void* memory) {
  stack_t stack;
  sigaltstack(nullptr, &stack);
  if (stack.ss_sp == memory) {
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }
  free(memory);
}

// Makes the calling thread a worker: its fault signals are unblocked, run on a stack of their own for the lifetime of
// the thread, and find the worker they belong to.
static void attach_thread(Worker& worker) {
  this_worker = &worker;
  worker.thread = pthread_self();
  static __thread bool has_signal_stack;
  if (has_signal_stack) return;
  has_signal_stack = true;
  sigset_t needed;
  sigemptyset(&needed);
  for (int signal_number : fault_signals) sigaddset(&needed, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &needed, nullptr);
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_size = 64u << 10;
  stack.ss_sp = malloc(stack.ss_size);
  if (!stack.ss_sp) return;
  sigaltstack(&stack, nullptr);
  pthread_setspecific(signal_stack_key, stack.ss_sp);
}

// ---- describing a fault ---------------------------------------------------------------------------------------------
static bool is_stack_overflow(const Worker& worker) {
  const char *address = worker.fault_address, *top = worker.fault_sp;
  return worker.stacks[this_lane].guards(address) || (address > top - (64 << 10) && address < top + (4 << 10));
}

static int explain_memory_fault(const Worker& worker, char* text, size_t size) {
  if (is_stack_overflow(worker)) {
    const Stacks& stacks = worker.stacks[this_lane];
    if (stacks.contains(worker.fault_sp) || stacks.guards(worker.fault_address))
      snprintf(text, size,
               "stack overflow: local variables of one agent take more than %zu KiB, or a recursion does not end; use "
               "ENV_SHARED or an array of the store",
               stack_bytes >> 10);
    else
      snprintf(text, size, "stack overflow: local variables are too big, or a recursion does not end");
    return WW_STACK_OVERFLOW;
  }
  const bool address_known = worker.fault_code == SEGV_MAPERR || worker.fault_code == SEGV_ACCERR;
  if (address_known && (uintptr_t)worker.fault_address < 4096)
    snprintf(text, size, "invalid memory access at address 0x%zx: a null pointer", (size_t)worker.fault_address);
  else if (address_known)
    snprintf(text, size, "invalid memory access at address %p; an index is far out of bounds, or a pointer is bad",
             (void*)worker.fault_address);
  else
    snprintf(text, size, "invalid memory access; an index is far out of bounds, or a pointer is bad");
  return WW_FAULT;
}

// Called after the jump out of a kernel.
static void explain_fault(const Worker& worker) {
  char text[256];
  int code = WW_FAULT;
  if (worker.fault_signal == stop_signal) {
    code = launches[this_lane].stop_code.load();
    if (code == WW_INTERRUPTED)
      snprintf(text, sizeof text, "interrupted, as it did not end within a second");
    else
      snprintf(text, sizeof text,
               "no progress within %g s; is there an endless loop? WARPWORLD_KERNEL_TIMEOUT sets the limit, in seconds",
               launches[this_lane].timeout_milliseconds.load() / 1e3);
  } else if (worker.fault_signal == SIGSEGV || worker.fault_signal == SIGBUS) {
    code = explain_memory_fault(worker, text, sizeof text);
  } else if (worker.fault_signal == SIGFPE) {
    snprintf(text, sizeof text, "integer division by zero, or the least integer divided by -1");
  } else if (worker.fault_signal == SIGABRT) {
    snprintf(text, sizeof text, "the C library gave up; often a local array was written out of its bounds");
  } else {
    snprintf(text, sizeof text, "illegal instruction: undefined behaviour, or __builtin_trap");
  }
  record_error(code, nullptr, 0, text, worker.fault_pc, worker.fault_address);
}

}  // namespace ww

[[noreturn]] static void fail(int code, const char* file, int line, const char* text, void* pc) {
  ww::Worker& worker = *ww::this_worker;
  ww::leave_kernels(worker);
  worker.fault_signal = 0;
  ww::record_error(code, file, line, text, pc);
  siglongjmp(worker.escape, 1);
}

[[noreturn]] void ww_fail(int code, const char* file, int line, const char* text) { fail(code, file, line, text, nullptr); }

[[noreturn]] void ww_fail_at(int code, void* pc, const char* text) { fail(code, nullptr, 0, text, pc); }

int ww_print(int env, int agent, int is_active, const char* format, va_list values) {
  ww::Worker& worker = *ww::this_worker;
  worker.printing.store(true);
  const int length = worker.lines.print({ww_this_thread.kernel, env, agent, (bool)is_active}, format, values);
  worker.printing.store(false);
  if (worker.stop_asked.exchange(false)) pthread_kill(pthread_self(), ww::stop_signal);
  return length;
}
