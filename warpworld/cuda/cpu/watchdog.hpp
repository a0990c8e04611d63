// A thread that ends kernels which make no progress or which the user interrupts.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "faults.hpp"

namespace ww {

constexpr int poll_milliseconds = 20, interrupt_grace_milliseconds = 1000;

static std::atomic<bool> stopping{false};
static std::atomic<int> interrupts{0};  // how often Ctrl-C was seen while it was watched for
static bool watching_interrupt;

static void begin_launch(Launch& launch) {
  launch.serial.store(launch.serial.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// A launch does not end while the watchdog sends its signals, so none is sent to a thread that has exited.
static void end_launch(Launch& launch) {
  launch.serial.store(launch.serial.load(std::memory_order_relaxed) + 1);
  while (stopping.load()) sched_yield();
}

template <class F>
static void for_all_workers(F f) {
  for (Worker& worker : workers) f(worker);
  for (Worker& worker : other_callers) f(worker);
  f(long_worker);
}

// Ends the kernels of one launch, if it still runs. A signal that arrives late, or in a worker of another lane, finds
// another serial and is ignored.
static void stop_kernels(Launch& launch, unsigned serial, int code) {
  stopping.store(true);
  if (launch.serial.load() == serial) {
    launch.stop_code.store(code);
    launch.stop_serial.store(serial);
    for_all_workers([](Worker& worker) {
      if (worker.in_kernel.load()) pthread_kill(worker.thread, stop_signal);
    });
  }
  stopping.store(false);
}

static void on_interrupt(int signal_number, siginfo_t* info, void* context) {
  interrupts.fetch_add(1);
  call_previous(signal_number, info, context);
}

static void watch_interrupt() {
  if (watching_interrupt) return;
  struct sigaction current;
  sigaction(SIGINT, nullptr, &current);
  if (!(current.sa_flags & SA_SIGINFO) && current.sa_handler == SIG_IGN) return;
  interrupts.store(0);
  install(SIGINT, on_interrupt);
  watching_interrupt = true;
}

static void leave_interrupt() {
  if (!watching_interrupt) return;
  struct sigaction current;
  sigaction(SIGINT, nullptr, &current);
  if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == on_interrupt)
    sigaction(SIGINT, &previous_action[SIGINT], nullptr);
  watching_interrupt = false;
}

// Of all lanes together: a launch that makes none is ended at the latest when the others' have ended.
static unsigned total_progress() {
  unsigned total = 0;
  for_all_workers([&](Worker& worker) { total += worker.progress.load(std::memory_order_relaxed); });
  return total;
}

// Waiting for a slow reader of the output is not an endless loop.
static bool waits_for_reader() {
  bool waits = false;
  for_all_workers([&](Worker& worker) { waits |= worker.lines.writing.load(std::memory_order_relaxed); });
  return waits;
}

// Milliseconds that the process has computed for, all threads together.
static long computed_milliseconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1000L + time.tv_nsec / 1000000L;
}

// What the watchdog knows of a lane.
struct Watched {
  unsigned serial, progress;
  int idle, since_interrupt;

  // Whether the launch that ran when it looked last still runs.
  bool still_runs(const Launch& launch) {
    const unsigned now = launch.serial.load();
    if (now % 2 == 1 && now == serial) return true;
    serial = now;
    progress = total_progress();
    idle = since_interrupt = 0;
    return false;
  }

  void look_at(Launch& launch, int milliseconds) {
    const unsigned now = total_progress();
    if (now != progress)
      idle = 0;
    else if (!waits_for_reader())
      idle += milliseconds;
    progress = now;
    since_interrupt = interrupts.load() && watching_interrupt ? since_interrupt + poll_milliseconds : 0;
    if (since_interrupt > interrupt_grace_milliseconds)
      stop_kernels(launch, serial, WW_INTERRUPTED);
    else if (idle > launch.timeout_milliseconds.load())
      stop_kernels(launch, serial, WW_TIMEOUT);
  }
};

// Costs a launch only the two changes of its serial: the watchdog checks 50 times a second whether the same launch
// is still running. Only then does it watch for Ctrl-C; otherwise the program's own handler is left alone.
static void* watch(void*) {
  prctl(PR_SET_NAME, "warpworld-watch");
  Watched lanes[num_lanes_of_process] = {};
  long computed = computed_milliseconds();
  for (;;) {
    usleep(poll_milliseconds * 1000);
    // On a busy machine a kernel may wait for a core: a wait counts a quarter, so that one for a lock still ends.
    const long before = std::exchange(computed, computed_milliseconds());
    const int milliseconds = (int)std::clamp<long>(computed - before, poll_milliseconds / 4, poll_milliseconds);
    bool runs[num_lanes_of_process], any = false;
    for (int lane = 0; lane < num_lanes_of_process; lane++) any |= runs[lane] = lanes[lane].still_runs(launches[lane]);
    any ? watch_interrupt() : leave_interrupt();
    for (int lane = 0; lane < num_lanes_of_process; lane++)
      if (runs[lane]) lanes[lane].look_at(launches[lane], milliseconds);
  }
  return nullptr;
}

static bool watchdog_started;

static void start_watchdog() {
  if (watchdog_started) return;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  pthread_t thread;
  watchdog_started = pthread_create(&thread, nullptr, watch, nullptr) == 0;
  if (watchdog_started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

// In a forked child, where there is no watchdog yet.
static void forget_watchdog() {
  watchdog_started = false;
  stopping.store(false);
  for (Launch& launch : launches) launch.serial.store(0);
  leave_interrupt();
}

}  // namespace ww
