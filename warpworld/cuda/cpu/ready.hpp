// Envs that are stepped one at a time, in the order in which they are sent, and received in the order in which they are
// ready. Workers step them while the caller does other things.
//
// The caller steps envs too while it waits, but none that would keep it long: a thread of its own takes these. All that
// lies in a ww_ready but the program is read and written under `ready_lock`.
#pragma once

#include <math.h>

#include "program.hpp"

extern "C" {

// managers/cpu/native_runtime.py mirrors it.
struct ww_ready {
  ww_program* program;  // a step of all envs, which is taken for single ones
  uint64_t num_envs;
  int32_t *sent, *done;  // (num_envs,) rings: envs that wait for their step, and those that wait to be received
  float* nanoseconds;    // (num_envs,) that each env's latest step took, infinite before its first
  uint64_t sent_in, sent_out, done_in, done_out, running;
  double waiting;  // nanoseconds that the envs which wait for their step will probably take
};
}

namespace ww {

constexpr int ready_lane = num_lanes_of_process - 1;
constexpr float most_by_caller = 50000;  // nanoseconds of an env that the caller steps itself
constexpr uint64_t until_idle = ~0ull;

static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static ww_ready* serving;           // whose envs workers step
static uint64_t wanted;             // for how many envs the caller waits; 0 while it does not
static std::atomic<bool> any_sent{false};
static std::atomic<int> ready_news{0};  // changes with what the caller waits for,
static std::atomic<int> long_news{0};   // and with what the thread for envs that take long waits for
static bool misses_long_env, long_thread_started;

static bool is_idle(const ww_ready& ready) { return ready.sent_in == ready.sent_out && !ready.running; }
static bool has_enough(const ww_ready& ready, uint64_t count) {
  return ready.done_in - ready.done_out >= count || is_idle(ready);
}

// In kernels the caller has number 0, and the thread for envs that take long the one behind the workers.
static unsigned number_of_long(const ww_program& program) {
  return program.max_workers < WW_MAX_WORKERS ? program.max_workers : WW_MAX_WORKERS - 1;
}

// Nanoseconds that the env which was sent first will probably take.
static float first_nanoseconds(const ww_ready& ready) {
  return ready.nanoseconds[ready.sent[ready.sent_out % ready.num_envs]];
}

static bool is_first_long(const ww_ready& ready) { return first_nanoseconds(ready) > most_by_caller; }

// Whether the caller steps that env: one that has not been stepped yet only where no worker is free. Where the system
// gave no thread for envs that take long, it steps all.
static bool is_for_caller(const ww_ready& ready) {
  const float nanoseconds = first_nanoseconds(ready);
  if (!long_thread_started) return true;
  return nanoseconds <= most_by_caller || (isinf(nanoseconds) && ready.running >= number_of_long(*ready.program));
}

static void tell(std::atomic<int>& news) {
  news.fetch_add(1);
  futex(&news, FUTEX_WAKE, 1);
}

static void call_long_thread() {
  misses_long_env = false;
  tell(long_news);
}

// Little work is left to the caller and to workers that are awake, see run_together.
static void call_workers(const ww_ready& ready) {
  if (misses_long_env && is_first_long(ready)) call_long_thread();
  if (ready.waiting < join_nanoseconds || ready.program->max_workers == 1) return;
  generation.fetch_add(1);
  if (ready.waiting > wake_nanoseconds && sleepers.load()) futex(&generation, FUTEX_WAKE, 1 << 30);
}

// What an env of a first step is taken to cost, so that sums stay finite.
static double expected(float nanoseconds) { return isinf(nanoseconds) ? 2 * wake_nanoseconds : nanoseconds; }

// Takes the env that was sent first, if there is one for this thread: of the caller `index` is 0.
static bool take_sent(ww_ready& ready, unsigned index, unsigned* env) {
  if (ready.sent_in == ready.sent_out) return false;
  if (index == 0 && (has_enough(ready, wanted) || !is_for_caller(ready))) return false;
  if (index == number_of_long(*ready.program) && !is_first_long(ready)) return false;
  ready.waiting -= expected(first_nanoseconds(ready));
  *env = (unsigned)ready.sent[ready.sent_out++ % ready.num_envs];
  if (ready.running++ == 0) begin_launch(launches[ready_lane]);
  if (ready.sent_in == ready.sent_out) {
    any_sent.store(false);
    ready.waiting = 0;
  } else {
    if (misses_long_env && is_first_long(ready)) call_long_thread();
    if (index && wanted && is_for_caller(ready)) tell(ready_news);
  }
  return true;
}

static void put_done(ww_ready& ready, unsigned env, double nanoseconds) {
  ready.nanoseconds[env] = (float)nanoseconds;
  ready.done[ready.done_in++ % ready.num_envs] = (int32_t)env;
  if (--ready.running == 0) end_launch(launches[ready_lane]);
  if (wanted && has_enough(ready, wanted)) tell(ready_news);
}

// Steps an env that was taken, and others until there is none for this thread.
static void step_sent(Worker& worker, unsigned index, ww_ready& ready, unsigned env) {
  const int own_lane = this_lane;
  this_lane = ready_lane;
  bool has_one = true;
  double start = now_nanoseconds();
  run_shares(
      worker, index, false, *ready.program,
      [&](unsigned* first, unsigned* end) {
        if (!has_one) {
          pthread_mutex_lock(&ready_lock);
          has_one = take_sent(ready, index, &env);
          pthread_mutex_unlock(&ready_lock);
        }
        *first = env;
        *end = env + 1;
        return has_one;
      },
      [&](unsigned) {
        const double now = now_nanoseconds();
        has_one = false;
        pthread_mutex_lock(&ready_lock);
        put_done(ready, env, now - start);
        pthread_mutex_unlock(&ready_lock);
        start = now;
      });
  this_lane = own_lane;
}

// Steps envs that wait for it, as a worker; returns whether there was one.
static bool take_part_in_ready(Worker& worker, unsigned index) {
  if (!any_sent.load(std::memory_order_acquire)) return false;
  pthread_mutex_lock(&ready_lock);
  ww_ready* ready = serving;
  unsigned env;
  const bool has_one = ready && index < number_of_long(*ready->program) && take_sent(*ready, index, &env);
  pthread_mutex_unlock(&ready_lock);
  if (has_one) step_sent(worker, index, *ready, env);
  return has_one;
}

// The thread that steps envs that take long. It sleeps between them.
static void* work_long(void*) {
  prctl(PR_SET_NAME, "warpworld-long");
  attach_thread(long_worker);
  set_float_control(standard_float_control);
  for (;;) {
    const int seen = long_news.load();
    pthread_mutex_lock(&ready_lock);
    ww_ready* ready = serving;
    const unsigned number = ready ? number_of_long(*ready->program) : 0;
    unsigned env;
    const bool has_one = ready && take_sent(*ready, number, &env);
    misses_long_env = !has_one;
    pthread_mutex_unlock(&ready_lock);
    if (has_one)
      step_sent(long_worker, number, *ready, env);
    else if (long_news.load() == seen)
      futex(&long_news, FUTEX_WAIT, seen);
  }
  return nullptr;
}

// Waits until so many envs are ready, or none is under way, and steps some meanwhile. `ready_lock` is held.
static void attend(ww_ready& ready, uint64_t count) {
  Worker& caller = caller_of(ready_lane);
  attach_thread(caller);
  const unsigned floats = float_control();
  if (floats != standard_float_control) set_float_control(standard_float_control);
  wanted = count;
  while (!has_enough(ready, count)) {
    const int seen = ready_news.load();
    unsigned env;
    const bool has_one = take_sent(ready, 0, &env);
    pthread_mutex_unlock(&ready_lock);
    if (has_one) {
      step_sent(caller, 0, ready, env);
    } else {
      for (unsigned spins = 0; ready_news.load(std::memory_order_acquire) == seen && spins < close_spins; spins++) relax();
      if (ready_news.load() == seen) futex(&ready_news, FUTEX_WAIT, seen);
    }
    pthread_mutex_lock(&ready_lock);
  }
  wanted = 0;
  if (floats != standard_float_control) set_float_control(floats);
  this_worker = nullptr;
}

// Lets workers step the envs of this one; those of another are ready before. Returns the code of an error.
static int serve(ww_ready& ready) {
  ww_program& program = *ready.program;
  if (serving && serving != &ready) attend(*serving, until_idle);
  if (!is_idle(ready)) return WW_OK;
  bool is_there = prepare_workers(ready_lane, program.max_workers, program.max_threads);
  pthread_mutex_lock(&growth_lock);
  is_there = is_there && prepare_worker(long_worker, ready_lane, program.max_threads);
  pthread_mutex_unlock(&growth_lock);
  if (!is_there) return program.error.code = WW_NO_MEMORY;
  start_watchdog();
  keep_fault_handlers();
  start_workers(program.max_workers);
  if (!long_thread_started) long_thread_started = start_thread(work_long, nullptr);
  Launch& launch = launches[ready_lane];
  launch.timeout_milliseconds.store(program.timeout_milliseconds, std::memory_order_relaxed);
  launch.error = &program.error;
  launch.cancelled.store(program.error.code != WW_OK, std::memory_order_relaxed);  // one that is still to be received
  serving = &ready;
  return WW_OK;
}

static int send_envs(ww_ready& ready, const int32_t* envs, unsigned count) {
  if (!count) return WW_OK;
  if (const int code = serve(ready)) return code;
  for (unsigned i = 0; i < count; i++) {
    ready.sent[ready.sent_in++ % ready.num_envs] = envs[i];
    ready.waiting += expected(ready.nanoseconds[envs[i]]);
  }
  any_sent.store(true, std::memory_order_release);
  call_workers(ready);
  return WW_OK;
}

// Forgets that Ctrl-C ended envs: where a call returns after it, Python raises it before it reads the code.
static void forget_interrupt(ww_ready& ready) {
  if (is_idle(ready) && ready.program->error.code == WW_INTERRUPTED) ready.program->error.code = WW_OK;
}

static int receive_envs(ww_ready& ready, int32_t* envs, unsigned count) {
  forget_interrupt(ready);
  attend(ready, count);
  if (ready.program->error.code != WW_OK) attend(ready, until_idle);
  if (const int code = ready.program->error.code) return code;
  for (unsigned i = 0; i < count; i++) envs[i] = ready.done[ready.done_out++ % ready.num_envs];
  return WW_OK;
}

// Makes all envs ready, in order. Returns the code of an error.
static int make_ready(ww_ready& ready) {
  forget_interrupt(ready);
  attend(ready, until_idle);
  ready.done_out = 0;
  for (ready.done_in = 0; ready.done_in < ready.num_envs; ready.done_in++) ready.done[ready.done_in] = (int32_t)ready.done_in;
  return ready.program->error.code;
}

static void forget_ready() {
  serving = nullptr;
  wanted = 0;
  any_sent.store(false);
  misses_long_env = long_thread_started = false;
  pthread_mutex_init(&ready_lock, nullptr);
}

// Calls f with what threads that send and receive share.
template <class F>
static int with_ready(F f) {
  pthread_mutex_t* lock = &lanes[ready_lane].lock;
  pthread_mutex_lock(lock);
  pthread_mutex_lock(&ready_lock);
  const int code = f();
  pthread_mutex_unlock(&ready_lock);
  pthread_mutex_unlock(lock);
  return code;
}

}  // namespace ww

extern "C" {

// Lets `count` envs be stepped, none of which is under way. Returns the code of an error, or 0.
__attribute__((visibility("default"))) int ww_send(ww_ready* ready, const int32_t* envs, unsigned count) {
  return ww::with_ready([&] { return ww::send_envs(*ready, envs, count); });
}

// Waits for `count` of the envs under way, and writes those that were ready first. Returns the code of an error, or 0.
__attribute__((visibility("default"))) int ww_receive(ww_ready* ready, int32_t* envs, unsigned count) {
  return ww::with_ready([&] { return ww::receive_envs(*ready, envs, count); });
}

// Waits for all envs under way, and makes all envs ready, in order. Returns the code of an error, or 0.
__attribute__((visibility("default"))) int ww_make_ready(ww_ready* ready) {
  return ww::with_ready([&] { return ww::make_ready(*ready); });
}

// Waits for all envs under way; workers step no env of it any more. Returns the code of an error, or 0.
__attribute__((visibility("default"))) int ww_leave_ready(ww_ready* ready) {
  return ww::with_ready([&] {
    ww::attend(*ready, ww::until_idle);
    if (ww::serving == ready) ww::serving = nullptr;
    return ready->program->error.code;
  });
}
}
