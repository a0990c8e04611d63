// The ring scheduler: agent t of every env runs on fiber t, and a barrier is one switch to fiber t+1 of the ring.
//
// It is lazy. Agents run as plain calls on fiber 0 until one of them meets a barrier; that agent keeps the stack it is
// on, the others get fresh ones. One round of the ring takes every agent from one barrier to the next: when the switch
// comes back to an agent, all others have arrived. The end of the kernel is one more round, after which fiber 0 moves
// on to the next block. Agents that have returned stay in the ring and pass the turn on.
#pragma once

#include <stdio.h>

#include <type_traits>
#include <utility>

#include "checks.hpp"
#include "fiber.hpp"

namespace ww {

struct Site {  // of a barrier in the source
  const char* file;
  int line;
};

struct Ring {
  void* fiber[WW_MAX_THREADS];
  void* caller;
  unsigned threads, block, end;
  unsigned returned;         // agents of this block that have left the kernel
  unsigned round;            // blocks completed on the ring
  unsigned returned_before;  // agents of the first block that had returned before the ring was needed
  bool running;
  const Site* site;  // where the agents of this round wait
  const ww_launch* launch;
  void (*body)(void* const* args);
};
static_assert(sizeof(Ring) <= WW_SCHEDULER_BYTES, "grow WW_SCHEDULER_BYTES");

static WW_INLINE Ring& ring() { return *(Ring*)ww_this_thread.scheduler; }

extern "C" __attribute__((visibility("hidden"), used)) void ww_fiber_main() {
  ring().body(ring().launch->args);
  __builtin_unreachable();
}

WW_COLD static void start_ring(Ring& r, unsigned thread) {
  for (unsigned i = 0; i < r.threads; i++)
    if (i != thread) r.fiber[i] = ww_fresh_fiber(ww_stack_top(r.launch, i ? i : thread));
  r.running = true;
  r.returned = r.returned_before = thread;
  r.round = 0;
  r.site = nullptr;
}

[[noreturn]] WW_COLD static void barrier_diverged(const Site* here, const Site* there) {
  char text[256];
  snprintf(text, sizeof text,
           "the agents of one env wait at different barriers, this one at line %d and others at line %d; "
           "make the branch around the barrier the same for all agents of the env",
           here->line, there->line);
  ww_fail(WW_DIVERGED, here->file, here->line, text);
}

static WW_INLINE void pass_turn(Ring& r, unsigned thread) {
  const unsigned next = thread + 1 == r.threads ? 0 : thread + 1;
  threadIdx.x = next;
  WW_SWITCH(&r.fiber[thread], r.fiber[next]);
}

// The barrier.
static WW_INLINE void sync(const Site* site) {
  Ring& r = ring();
  const unsigned thread = threadIdx.x;
  if (WW_UNLIKELY(!r.running)) {
    if (r.threads == 1) return;
    start_ring(r, thread);
  }
  if (thread == 0 || r.site == nullptr)
    r.site = site;
  else if (WW_UNLIKELY(r.site != site))
    barrier_diverged(site, r.site);
  pass_turn(r, thread);
}

template <auto kernel, unsigned threads>
struct RingRunner;

template <class... A, void (*kernel)(A...), unsigned threads>
struct RingRunner<kernel, threads> {
  // What every fiber runs. The kernel is called in one place only; with more, compilers stop inlining it.
  __attribute__((noinline)) WW_FLATTEN static void loop(A... args) {
    Ring& r = ring();
    bool returned = threadIdx.x < r.returned_before;
    for (;;) {
      if (!returned) WW_CALL(kernel, args...);
      if (!r.running) {
        if (++threadIdx.x < threads) continue;
      } else {
        if (!returned) r.returned++;
        returned = false;
        const unsigned me = threadIdx.x, round = r.round;
        if (me) {
          do pass_turn(r, me);
          while (r.round == round);
          continue;
        }
        do {
          r.site = nullptr;
          pass_turn(r, 0);
        } while (r.returned != threads);
        r.returned = r.returned_before = 0;
        r.round++;
      }
      if (++r.block == r.end) {
        void* unused;
        WW_SWITCH(&unused, r.caller);
      }
      blockIdx.x = r.block;
      threadIdx.x = 0;
    }
  }

  template <size_t... I>
  static WW_INLINE void unpack(void* const* args, std::index_sequence<I...>) {
    loop(*(A*)args[I]...);
  }
  static void body(void* const* args) { unpack(args, std::make_index_sequence<sizeof...(A)>()); }

  static void run(const ww_launch* launch, unsigned first, unsigned end) {
    Ring& r = ring();
    threadIdx.x = 0;
    blockIdx.x = first;
    r.launch = launch;
    r.body = body;
    r.threads = threads;
    r.running = false;
    r.block = first;
    r.end = end;
    r.returned = r.returned_before = 0;
    r.fiber[0] = ww_fresh_fiber(ww_stack_top(launch, 0));
    WW_SWITCH(&r.caller, r.fiber[0]);
  }
};

// One lane an env, where barriers do nothing, or more lanes than a block has threads, which take turns: the build has seen
// to it that they meet no barrier. No fiber exists; blocks are a plain loop.
template <auto kernel, unsigned lanes>
struct LoopRunner;

template <class... A, void (*kernel)(A...), unsigned lanes>
struct LoopRunner<kernel, lanes> {
  __attribute__((noinline)) WW_FLATTEN static void loop(unsigned first, unsigned end, A... args) {
#if defined(WW_ENVS_AT_ONCE) && !defined(WW_DEBUG)
    for (int group = (int)first; group < (int)end; group += WW_ENVS_AT_ONCE) {
      ww_first_block.x = (unsigned)group;  // what a fault's message begins with
      const int group_end = group + WW_ENVS_AT_ONCE < (int)end ? group + WW_ENVS_AT_ONCE : (int)end;
#pragma GCC ivdep
      for (int block = group; block < group_end; ++block) {  // signed: indices that follow from it do not wrap around
        blockIdx.x = (unsigned)block;
        kernel(args...);
      }
    }
#else
    for (unsigned block = first; block < end; ++block) {
      blockIdx.x = block;
      if constexpr (lanes == 1)
        WW_CALL(kernel, args...);
      else
        for (threadIdx.x = 0; threadIdx.x < lanes; ++threadIdx.x) WW_CALL(kernel, args...);
    }
#endif
  }
  template <size_t... I>
  static WW_INLINE void unpack(void* const* args, unsigned first, unsigned end, std::index_sequence<I...>) {
    loop(first, end, *(A*)args[I]...);
  }
  static void run(const ww_launch* launch, unsigned first, unsigned end) {
    threadIdx.x = 0;
    blockDim.x = lanes;  // what num_lanes() counts
    if constexpr (WW_MAX_THREADS_PER_ENV > 1) {  // another kernel has barriers, and this one's query the ring
      ring().threads = 1;
      ring().running = false;
    }
    unpack(launch->args, first, end, std::make_index_sequence<sizeof...(A)>());
  }
};

template <auto kernel, unsigned lanes>
using Runner = std::conditional_t<lanes == 1 || (lanes > WW_MAX_THREADS), LoopRunner<kernel, lanes>,
                                  RingRunner<kernel, lanes>>;

}  // namespace ww
