// The runtime library of the cpu backend, built once per machine: a pool of workers that claim shares of a program's
// envs.
//
// One 64-bit word holds the number of the job and the first unclaimed env. The caller works through the job itself and
// waits only for shares that other workers have claimed, so a sleeping worker, or a core that is busy with something
// else, costs nothing.

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "faults.hpp"
#include "floats.hpp"
#include "program.hpp"
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

static Job job;  // read by workers that have claimed a share of it
alignas(128) static std::atomic<uint64_t> claim{nothing_left};
alignas(128) static std::atomic<unsigned> envs_done{0};
alignas(128) static std::atomic<int> generation{0};
static std::atomic<int> sleepers{0};
static std::atomic<unsigned> published_envs{0}, published_share{0}, published_workers{0};
static unsigned workers_started = 1;
static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;

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
  launch.stacks = worker.stacks.base();
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
    if (!cancelled.load(std::memory_order_relaxed)) {
      enter_kernels(worker);
      run_steps(program, launch, a, b);
      leave_kernels(worker);
      worker.lines.end_line();
    }
    done(b - a);
  }
}

// Claims the next share of job `number`, if that job still runs. Once a job has ended the word holds nothing_left or
// another number, so an exchange that succeeds was made with envs and share of this job: both are read before it.
static inline bool claim_share(unsigned number, unsigned* first, unsigned* end) {
  uint64_t current = claim.load(std::memory_order_acquire);
  for (;;) {
    const unsigned envs = published_envs.load(std::memory_order_acquire),
                   share = published_share.load(std::memory_order_acquire), next = (unsigned)current;
    if ((unsigned)(current >> 32) != number || next >= envs) return false;
    if (claim.compare_exchange_weak(current, current + share, std::memory_order_acq_rel, std::memory_order_acquire)) {
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
    if (index >= published_workers.load()) continue;
    // The first claim is made before anything of the job is read: while a claimed share is open the job cannot change.
    unsigned first, end;
    if (!claim_share((unsigned)seen, &first, &end)) continue;
    bool have_one = true;
    run_shares(
        worker, index, false, *job.program,
        [&](unsigned* a, unsigned* b) {
          if (!have_one) return claim_share((unsigned)seen, a, b);
          have_one = false;
          *a = first;
          *b = end;
          return true;
        },
        [&](unsigned envs) { envs_done.fetch_add(envs, std::memory_order_release); });
  }
  return nullptr;
}

static void start_workers(unsigned count) {
  for (; workers_started < count; workers_started++) {
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
    const int failed = pthread_create(&thread, &attributes, work, (void*)(uintptr_t)workers_started);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    if (failed) return;
  }
}

// Memory that workers need to run blocks of `threads` threads. False if there is none.
static bool prepare_workers(unsigned count, unsigned threads) {
  static unsigned prepared_workers, prepared_threads;
  if (count <= prepared_workers && threads <= prepared_threads) return true;
  if (count < prepared_workers) count = prepared_workers;
  if (threads < prepared_threads) threads = prepared_threads;
  for (unsigned i = 0; i < count; i++) {
    if (!workers[i].scheduler) workers[i].scheduler = calloc(1, WW_SCHEDULER_BYTES);
    if (!workers[i].scheduler || !workers[i].stacks.grow(threads)) return false;
  }
  prepared_workers = count;
  prepared_threads = threads;
  return true;
}

// A forked child has the caller's thread only.
static void after_fork() {
  workers_started = 1;
  sleepers.store(0);
  generation.store(0);
  claim.store(nothing_left);
  for (Worker& worker : workers) {
    worker.in_kernel.store(0);
    worker.printing.store(false);
    worker.lines.writing.store(false);
  }
  forget_watchdog();
  pthread_mutex_init(&launch_lock, nullptr);
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
  return small ? 1 : program.max_workers;
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
      workers[0], 0, true, program,
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
  const unsigned number = (unsigned)generation.load() + 1;
  start_workers(num_workers);
  job = Job{&program, num_envs, share};
  envs_done.store(0);
  published_envs.store(num_envs);
  published_share.store(share);
  published_workers.store(num_workers);
  claim.store((uint64_t)number << 32, std::memory_order_release);
  generation.store((int)number);
  if (program.nanoseconds_per_env * num_envs > wake_nanoseconds || !program.launches)
    if (sleepers.load()) futex(&generation, FUTEX_WAKE, 1 << 30);
  volatile unsigned own = 0;
  run_shares(
      workers[0], 0, false, program,
      [&](unsigned* first, unsigned* end) { return claim_share(number, first, end); },
      [&](unsigned envs) {
        own = own + envs;
        envs_done.fetch_add(envs, std::memory_order_release);
      });
  for (unsigned spins = 0; envs_done.load(std::memory_order_acquire) != num_envs; spins++)
    spins < close_spins ? relax() : (void)sched_yield();
  claim.store((uint64_t)number << 32 | nothing_left);  // closed, so that no late claim meets the next job
  return own;
}

static int run_program(ww_program& program) {
  if (refuses_actions(program)) return program.error.code = WW_ILLEGAL_ACTION;
  const unsigned num_envs = (unsigned)program.context.num_envs, num_workers = workers_for(program, num_envs),
                 share = share_of(program, num_envs, num_workers);
  if (!prepare_workers(num_workers, program.max_threads)) return program.error.code = WW_NO_MEMORY;
  start_watchdog();
  keep_fault_handlers();
  attach_thread(workers[0]);
  timeout_milliseconds.store(program.timeout_milliseconds, std::memory_order_relaxed);
  current_error = &program.error;
  program.error.code = WW_OK;
  cancelled.store(false, std::memory_order_relaxed);
  begin_launch();
  const unsigned floats = float_control();
  if (floats != standard_float_control) set_float_control(standard_float_control);
  const bool measured = program.launches % 16 <= 1;
  const double start = measured ? now_nanoseconds() : 0;
  const unsigned own = num_workers == 1 || share >= num_envs ? run_alone(program, num_envs, share)
                                                             : run_together(program, num_envs, share, num_workers);
  if (measured && own) learn(program, (float)((now_nanoseconds() - start) / own));
  program.launches++;
  if (floats != standard_float_control) set_float_control(floats);
  end_launch();
  this_worker = nullptr;
  return program.error.code;
}

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

__attribute__((visibility("default"))) void ww_make_progress() { ww::make_progress(ww::workers[ww_this_thread.worker]); }

// Runs a program over all envs. Returns 0, or the code of the error that program->error describes.
__attribute__((visibility("default"))) int ww_run_program(ww_program* program) {
  pthread_mutex_lock(&ww::launch_lock);
  const int code = ww::run_program(*program);
  pthread_mutex_unlock(&ww::launch_lock);
  return code;
}
}
