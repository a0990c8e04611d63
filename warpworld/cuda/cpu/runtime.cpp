// The runtime library of the cpu backend, built once per machine: a pool of workers that claim shares of a program's
// envs.
//
// One 64-bit word holds the number of the job and the first unclaimed env. The caller works through the job itself and
// waits only for shares that other workers have claimed, so a sleeping worker, or a core that is busy with something
// else, costs nothing.
//
// Threads that launch programs take turns, but for one that learns beside the others: it has a lane of its own. Workers
// serve the jobs of both lanes. As long as threads of both are busy, each lane has a worker less: the other's thread has
// its core. Kernels that run in both lanes at the same time are different ones, and work on different arrays. A third lane
// is of envs that are stepped one at a time, see ready.hpp.

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "faults.hpp"
#include "floats.hpp"
#include "repeats.hpp"
#include "watchdog.hpp"

__thread ww_thread ww_this_thread;
__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace ww {

constexpr unsigned close_spins = 1000;         // about 20 microseconds, for a job that follows at once,
constexpr float most_patience = 300000;        // and so long for one where jobs have been following as quickly
constexpr float share_nanoseconds = 1000;      // the least work of a share,
constexpr float most_nanoseconds = 1e7;        // and the most: errors are noticed between shares
constexpr float join_nanoseconds = 10000;      // below, a job is not shared at all: the data would go to and fro
constexpr float wake_nanoseconds = 20000;      // above, sleeping workers are woken
constexpr unsigned first_share = 64;           // of a program that has not been measured yet
constexpr uint64_t nothing_left = 0xFFFFFFFFu;

struct Job {
  const ww_program* program;
  unsigned num_envs, share;
};

struct Lane {
  Job job;  // read by workers that have claimed a share of it
  alignas(128) std::atomic<uint64_t> claim{nothing_left};
  alignas(128) std::atomic<unsigned> envs_done{0};
  alignas(128) std::atomic<unsigned> published_envs{0}, published_share{0}, published_workers{0};
  unsigned number = 0;             // of its latest job
  std::atomic<bool> is_busy{false};  // whether a thread computes that launches in it, in a launch or between two
  unsigned prepared_workers = 0, prepared_threads = 0;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
};

static Lane lanes[num_lanes_of_process];
alignas(128) static std::atomic<int> generation{0};  // changes with each job of any lane
static std::atomic<int> sleepers{0};
static std::atomic<unsigned> workers_started{1};
static pthread_mutex_t growth_lock = PTHREAD_MUTEX_INITIALIZER;  // of what lanes share: threads, and their memory

static inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static void futex(std::atomic<int>* word, int operation, int value) {
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

static double now_nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static void make_progress(Worker& worker) {
  worker.progress.store(worker.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Runs shares from `next_share` (which returns false when none is left) until the job is done; faults end one share.
// Not inlined: what the callers' closures refer to must lie outside of the frame that is jumped back to.
template <class NextShare, class Done>
__attribute__((noinline)) static void run_shares(Worker& worker, unsigned index, bool single, const ww_program& program,
                                                 NextShare next_share, Done done) {
  ww_launch launch;
  launch.stacks = worker.stacks[this_lane].base();
  launch.stack_stride = stack_stride;
  ww_this_thread.worker = index;
  ww_this_thread.single = single;
  ww_this_thread.scheduler = worker.scheduler;
  volatile unsigned first = 0, end = 0;
  if (sigsetjmp(worker.escape, 0) != 0) {
    worker.printing.store(false);
    worker.stop_asked.store(false);
    if (worker.fault_signal) explain_fault(worker);
    worker.lines.end_line();
    done(end - first);
  }
  unsigned a, b;
  while (next_share(&a, &b)) {
    first = a;
    end = b;
    make_progress(worker);
    if (!launches[this_lane].cancelled.load(std::memory_order_relaxed)) {
      enter_kernels(worker);
      run_steps(program, launch, a, b);
      leave_kernels(worker);
      worker.lines.end_line();
    }
    done(b - a);
  }
}

// Claims the next share of a lane's job `number`, if that job still runs. Once a job has ended the word holds nothing_left or
// another number, so an exchange that succeeds was made with envs and share of this job: both are read before it.
static inline bool claim_share(Lane& lane, unsigned number, unsigned* first, unsigned* end) {
  uint64_t current = lane.claim.load(std::memory_order_acquire);
  for (;;) {
    const unsigned envs = lane.published_envs.load(std::memory_order_acquire),
                   share = lane.published_share.load(std::memory_order_acquire), next = (unsigned)current;
    if ((unsigned)(current >> 32) != number || next >= envs) return false;
    if (lane.claim.compare_exchange_weak(current, current + share, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      *first = next;
      *end = next + share < envs ? next + share : envs;
      return true;
    }
  }
}

static bool waits_still(int seen) { return generation.load(std::memory_order_acquire) == seen; }

// Waits for a job other than the one with number `seen`; returns its number.
//
// Waking a worker takes longer than many a job, so a worker stays awake between jobs, such as the minibatches of an
// update, that follow one another quickly: `is_patient` says whether the last one did. It yields its core meanwhile.
static int wait_for_job(int seen, bool& is_patient) {
  for (unsigned spins = 0; waits_still(seen) && spins < close_spins; spins++) relax();
  if (!waits_still(seen)) return generation.load();
  const double start = now_nanoseconds();
  while (is_patient && waits_still(seen) && now_nanoseconds() - start < most_patience) sched_yield();
  while (waits_still(seen)) {
    sleepers.fetch_add(1);
    if (generation.load() == seen) futex(&generation, FUTEX_WAIT, seen);
    sleepers.fetch_sub(1);
  }
  is_patient = now_nanoseconds() - start < most_patience;
  return generation.load();
}

// Takes part in a lane's present job; returns whether there was a share of it.
static bool take_part(Worker& worker, unsigned index, int number_of_lane) {
  Lane& lane = lanes[number_of_lane];
  const unsigned number = (unsigned)(lane.claim.load(std::memory_order_acquire) >> 32);
  if (index >= lane.published_workers.load()) return false;
  // The first claim is made before anything of the job is read: while a claimed share is open the job cannot change.
  unsigned first, end;
  if (!claim_share(lane, number, &first, &end)) return false;
  this_lane = number_of_lane;
  bool have_one = true;
  run_shares(
      worker, index, false, *lane.job.program,
      [&](unsigned* a, unsigned* b) {
        if (!have_one) return claim_share(lane, number, a, b);
        have_one = false;
        *a = first;
        *b = end;
        return true;
      },
      [&](unsigned envs) { lane.envs_done.fetch_add(envs, std::memory_order_release); });
  return true;
}

static bool take_part_in_ready(Worker& worker, unsigned index);

static void* work(void* argument) {
  const unsigned index = (unsigned)(uintptr_t)argument;
  Worker& worker = workers[index];
  char name[16];
  snprintf(name, sizeof name, "warpworld-%u", index);
  prctl(PR_SET_NAME, name);
  attach_thread(worker);
  set_float_control(standard_float_control);
  int seen = 0;
  bool is_patient = false;
  for (;;) {
    seen = wait_for_job(seen, is_patient);
    for (bool took_part = true; took_part;) {
      took_part = false;
      for (int lane = 0; lane < num_lanes_of_process; lane++) took_part |= take_part(worker, index, lane);
      took_part |= take_part_in_ready(worker, index);
    }
  }
  return nullptr;
}

// Starts a thread that runs kernels; returns whether it was started.
static bool start_thread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setguardsize(&attributes, guard_bytes);
  // Ctrl-C and all other signals that do not concern the worker itself are left to the program's own threads: their
  // handlers may need more stack than a fiber has.
  sigset_t blocked, old;
  sigfillset(&blocked);
  for (int signal_number : fault_signals) sigdelset(&blocked, signal_number);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  const int failed = pthread_create(&thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_attr_destroy(&attributes);
  return !failed;
}

static void start_workers(unsigned count) {
  if (workers_started.load(std::memory_order_relaxed) >= count) return;
  pthread_mutex_lock(&growth_lock);
  for (unsigned index; (index = workers_started.load()) < count; workers_started.store(index + 1))
    if (!start_thread(work, (void*)(uintptr_t)index)) break;
  pthread_mutex_unlock(&growth_lock);
}

// The worker that a lane's launching thread is. In kernels all have number 0.
static Worker& caller_of(int lane) { return lane == 0 ? workers[0] : other_callers[lane - 1]; }

static bool prepare_worker(Worker& worker, int lane, unsigned threads) {
  if (!worker.scheduler) worker.scheduler = calloc(1, WW_SCHEDULER_BYTES);
  return worker.scheduler && worker.stacks[lane].grow(threads);
}

// Memory that workers need to run blocks of `threads` threads for a lane, none of whose launches runs. False if there is
// none.
static bool prepare_workers(int number, unsigned count, unsigned threads) {
  Lane& lane = lanes[number];
  if (count <= lane.prepared_workers && threads <= lane.prepared_threads) return true;
  if (count < lane.prepared_workers) count = lane.prepared_workers;
  if (threads < lane.prepared_threads) threads = lane.prepared_threads;
  pthread_mutex_lock(&growth_lock);
  bool is_there = prepare_worker(caller_of(number), number, threads);
  for (unsigned i = 1; i < count && is_there; i++) is_there = prepare_worker(workers[i], number, threads);
  pthread_mutex_unlock(&growth_lock);
  if (!is_there) return false;
  lane.prepared_workers = count;
  lane.prepared_threads = threads;
  return true;
}

static void forget_ready();

// A forked child has the caller's thread only.
static void after_fork() {
  workers_started.store(1);
  sleepers.store(0);
  generation.store(0);
  for (Lane& lane : lanes) {
    lane.claim.store(nothing_left);
    lane.is_busy.store(false);
    pthread_mutex_init(&lane.lock, nullptr);
  }
  for_all_workers([](Worker& worker) {
    worker.in_kernel.store(0);
    worker.printing.store(false);
    worker.lines.writing.store(false);
  });
  forget_watchdog();
  forget_ready();
  pthread_mutex_init(&growth_lock, nullptr);
  pthread_mutex_init(&output_lock, nullptr);
}

static unsigned rounded_up(unsigned n, unsigned granularity) {
  return (n + granularity - 1) / granularity * granularity;
}

static unsigned share_of(const ww_program& program, unsigned num_envs, unsigned num_workers) {
  unsigned share = first_share;
  const float each = program.nanoseconds_per_env;
  if (each > 0) {
    share = num_envs / (num_workers * 8);
    if (share * each > most_nanoseconds) share = (unsigned)(most_nanoseconds / each);
    if (share * each < share_nanoseconds) share = (unsigned)(share_nanoseconds / each);
  }
  return rounded_up(share ? share : 1, program.granularity);
}

// How many workers the next launch should have: a few envs are stepped before a second worker would have started.
static unsigned workers_for(const ww_program& program, unsigned num_envs) {
  const float work = program.nanoseconds_per_env * num_envs;
  const bool small = program.launches ? work < join_nanoseconds : num_envs <= first_share;
  const bool is_beside_another = lanes[0].is_busy.load(std::memory_order_relaxed) && lanes[1].is_busy.load(std::memory_order_relaxed);
  return small || program.max_workers <= 1u + is_beside_another ? 1 : program.max_workers - is_beside_another;
}

// A launch during which another process had the core looks very long, so a measurement counts at most four times the
// last.
static void learn(ww_program& program, float nanoseconds_per_env) {
  const float most = 4 * program.nanoseconds_per_env;
  program.nanoseconds_per_env = most > 0 && nanoseconds_per_env > most ? most : nanoseconds_per_env;
}

static unsigned run_alone(const ww_program& program, unsigned num_envs, unsigned share) {
  unsigned next = 0;
  run_shares(
      caller_of(this_lane), 0, true, program,
      [&](unsigned* first, unsigned* end) {
        if (next >= num_envs) return false;
        *first = next;
        *end = next = next + share < num_envs ? next + share : num_envs;
        return true;
      },
      [](unsigned) {});
  return num_envs;
}

// Returns how many envs the caller itself stepped.
static unsigned run_together(const ww_program& program, unsigned num_envs, unsigned share, unsigned num_workers) {
  Lane& lane = lanes[this_lane];
  const unsigned number = ++lane.number;
  start_workers(num_workers);
  lane.job = Job{&program, num_envs, share};
  lane.envs_done.store(0);
  lane.published_envs.store(num_envs);
  lane.published_share.store(share);
  lane.published_workers.store(num_workers);
  lane.claim.store((uint64_t)number << 32, std::memory_order_release);
  generation.fetch_add(1);
  if (program.nanoseconds_per_env * num_envs > wake_nanoseconds || !program.launches)
    if (sleepers.load()) futex(&generation, FUTEX_WAKE, 1 << 30);
  volatile unsigned own = 0;
  run_shares(
      caller_of(this_lane), 0, false, program,
      [&](unsigned* first, unsigned* end) { return claim_share(lane, number, first, end); },
      [&](unsigned envs) {
        own = own + envs;
        lane.envs_done.fetch_add(envs, std::memory_order_release);
      });
  for (unsigned spins = 0; lane.envs_done.load(std::memory_order_acquire) != num_envs; spins++)
    spins < close_spins ? relax() : (void)sched_yield();
  lane.claim.store((uint64_t)number << 32 | nothing_left);  // closed, so that no late claim meets the next job
  return own;
}

static int run_program(ww_program& program) {
  if (refuses_actions(program)) return program.error.code = WW_ILLEGAL_ACTION;
  const unsigned num_envs = (unsigned)program.context.num_envs, num_workers = workers_for(program, num_envs),
                 share = share_of(program, num_envs, num_workers);
  if (!prepare_workers(this_lane, num_workers, program.max_threads)) return program.error.code = WW_NO_MEMORY;
  Launch& launch = launches[this_lane];
  start_watchdog();
  keep_fault_handlers();
  attach_thread(caller_of(this_lane));
  launch.timeout_milliseconds.store(program.timeout_milliseconds, std::memory_order_relaxed);
  launch.error = &program.error;
  program.error.code = WW_OK;
  launch.cancelled.store(false, std::memory_order_relaxed);
  begin_launch(launch);
  const unsigned floats = float_control();
  if (floats != standard_float_control) set_float_control(standard_float_control);
  const bool measured = program.launches % 16 <= 1;
  const double start = measured ? now_nanoseconds() : 0;
  const unsigned own = num_workers == 1 || share >= num_envs ? run_alone(program, num_envs, share)
                                                             : run_together(program, num_envs, share, num_workers);
  if (measured && own) learn(program, (float)((now_nanoseconds() - start) / own));
  program.launches++;
  if (floats != standard_float_control) set_float_control(floats);
  end_launch(launch);
  this_worker = nullptr;
  return program.error.code;
}

}  // namespace ww

#include "ready.hpp"

namespace ww {

static void prepare_process() {
  pthread_key_create(&signal_stack_key, free_signal_stack);
  pthread_atfork(nullptr, nullptr, after_fork);
}

}  // namespace ww

extern "C" {

__attribute__((visibility("default"))) unsigned ww_abi() { return WW_ABI; }

// Called before programs are made: signal handlers are put in place.
__attribute__((visibility("default"))) void ww_prepare() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ww::prepare_process);
  ww::install_fault_handlers();
}

__attribute__((visibility("default"))) void ww_make_progress() {
  if (ww::this_worker) ww::make_progress(*ww::this_worker);
}

// Gives the calling thread a lane of its own, 1, or lets it take turns with all others again, 0.
__attribute__((visibility("default"))) void ww_use_lane(int lane) { ww::this_lane = lane; }

// Says whether a thread of a lane computes, in launches or between them; both lanes are idle at first, and only while
// both are busy does one leave a core to the other.
__attribute__((visibility("default"))) void ww_set_busy(int lane, int is_busy) { ww::lanes[lane].is_busy.store(is_busy); }

// Runs a program over all envs. Returns 0, or the code of the error that program->error describes.
__attribute__((visibility("default"))) int ww_run_program(ww_program* program) {
  pthread_mutex_t* lock = &ww::lanes[ww::this_lane].lock;
  pthread_mutex_lock(lock);
  const int code = ww::run_program(*program);
  pthread_mutex_unlock(lock);
  return code;
}

// Runs a program until it has run so many times, or some time has passed; the code of its error, or 0.
__attribute__((visibility("default"))) int ww_repeat_program(ww_repeats* repeats) { return ww::repeat_program(*repeats); }
}
