// A thread that ends kernels which make no progress or which the user interrupts.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "faults.hpp"

namespace ww {

constexpr int poll_milliseconds = 20, interrupt_grace_milliseconds = 1000;

static std::atomic<bool> stopping{false};
static std::atomic<int> interrupts{0};  // how often Ctrl-C was seen while it was watched for
static bool watching_interrupt;

static void begin_launch() {
  launch_serial.store(launch_serial.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// A launch does not end while the watchdog sends its signals, so none is sent to a thread that has exited.
static void end_launch() {
  launch_serial.store(launch_serial.load(std::memory_order_relaxed) + 1);
  while (stopping.load()) sched_yield();
}

// Ends the kernels of one launch, if it still runs. A signal that arrives late finds another serial and is ignored.
static void stop_kernels(unsigned serial, int code) {
  stopping.store(true);
  if (launch_serial.load() == serial) {
    stop_code.store(code);
    stop_serial.store(serial);
    for (Worker& worker : workers)
      if (worker.in_kernel.load()) pthread_kill(worker.thread, stop_signal);
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

static unsigned total_progress() {
  unsigned total = 0;
  for (const Worker& worker : workers) total += worker.progress.load(std::memory_order_relaxed);
  return total;
}

// Waiting for a slow reader of the output is not an endless loop.
static bool waits_for_reader() {
  for (const Worker& worker : workers)
    if (worker.lines.writing.load(std::memory_order_relaxed)) return true;
  return false;
}

// Costs a launch only the two changes of launch_serial: the watchdog checks 50 times a second whether the same launch
// is still running. Only then does it watch for Ctrl-C; otherwise the program's own handler is left alone.
static void* watch(void*) {
  prctl(PR_SET_NAME, "warpworld-watch");
  unsigned serial = 0, progress = 0;
  int idle = 0, since_interrupt = 0;
  for (;;) {
    usleep(poll_milliseconds * 1000);
    const unsigned serial_now = launch_serial.load(), progress_now = total_progress();
    if (serial_now % 2 == 0 || serial_now != serial) {
      leave_interrupt();
      serial = serial_now;
      progress = progress_now;
      idle = since_interrupt = 0;
      continue;
    }
    watch_interrupt();
    if (progress_now != progress)
      idle = 0;
    else if (!waits_for_reader())
      idle += poll_milliseconds;
    progress = progress_now;
    since_interrupt = interrupts.load() && watching_interrupt ? since_interrupt + poll_milliseconds : 0;
    if (since_interrupt > interrupt_grace_milliseconds)
      stop_kernels(serial, WW_INTERRUPTED);
    else if (idle > timeout_milliseconds.load())
      stop_kernels(serial, WW_TIMEOUT);
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
  launch_serial.store(0);
  leave_interrupt();
}

}  // namespace ww
