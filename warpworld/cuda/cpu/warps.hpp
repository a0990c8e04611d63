// The general scheduler, for kernels that use warp operations and for packed builds: every thread is a fiber with a
// state, and threads wait for their block or for the lanes named in a warp mask. Slower than the ring, because of its
// queue.
#pragma once

#include <stdio.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "checks.hpp"
#include "fiber.hpp"

static_assert(WW_WARP_SIZE <= 32 && (WW_WARP_SIZE & (WW_WARP_SIZE - 1)) == 0, "a mask of lanes has 32 bits");

namespace ww {

struct Site {
  const char* file;
  int line;
};

enum class Wait : unsigned char { none, block, warp, returned };

struct Warps {
  void* fiber[WW_MAX_THREADS];
  const Site* site[WW_MAX_THREADS];
  uint64_t value[WW_MAX_THREADS];     // what a waiting lane offers to its warp
  uint64_t exchanged[WW_MAX_THREADS];  // what the lanes of a released warp offered; 0 of lanes that have returned
  uint32_t mask[WW_MAX_THREADS];
  uint16_t ready[WW_MAX_THREADS];
  Wait wait[WW_MAX_THREADS];
  unsigned num_ready, next_ready, num_returned, num_at_block;
  unsigned votes, voters;  // threads that offered a number other than 0 at the block's last barrier, and all of them
  unsigned threads, block, end;
  void* caller;
  const ww_launch* launch;
  void (*body)(void* const* args);
};
static_assert(sizeof(Warps) <= WW_SCHEDULER_BYTES, "grow WW_SCHEDULER_BYTES");

static WW_INLINE Warps& warps() { return *(Warps*)ww_this_thread.scheduler; }

extern "C" __attribute__((visibility("hidden"), used)) void ww_fiber_main() {
  warps().body(warps().launch->args);
  __builtin_unreachable();
}

static inline void make_ready(Warps& w, unsigned thread) {
  w.wait[thread] = Wait::none;
  w.ready[w.num_ready++] = (uint16_t)thread;
}

// All threads of the block wait at its barrier or have returned.
static inline void release_block(Warps& w) {
  const Site* site = nullptr;
  w.votes = 0, w.voters = w.num_at_block;
  for (unsigned i = 0; i < w.threads; i++) {
    const unsigned t = WW_TURN(i);
    if (w.wait[t] != Wait::block) continue;
    w.votes += w.value[t] != 0;
    if (!site) site = w.site[t];
    if (w.site[t] != site) {
      char text[256];
      snprintf(text, sizeof text, "threads of one block wait at different barriers, at line %d and at line %d",
               site->line, w.site[t]->line);
      ww_fail(WW_DIVERGED, site->file, site->line, text);
    }
    make_ready(w, t);
  }
  w.num_at_block = 0;
#ifdef WW_CHECK
  for (unsigned t = 0; t < w.threads; t++)
    if (w.wait[t] == Wait::returned) ww_check_returned(t, site->line);
#endif
  WW_CHECKED(ww_check_block_barrier());
}

// Releases the lanes of every warp mask whose lanes have all arrived; lanes that have returned count as arrived. Of the
// warp that begins with the thread `base`.
static inline void release_warp(Warps& w, unsigned base) {
  const unsigned lanes = w.threads - base < WW_WARP_SIZE ? w.threads - base : WW_WARP_SIZE;
  for (unsigned i = 0; i < lanes; i++) {
    if (w.wait[base + i] != Wait::warp) continue;
    const uint32_t mask = w.mask[base + i];
    bool complete = true;
    for (unsigned j = 0; j < lanes && complete; j++)
      if (mask >> j & 1)
        complete = w.wait[base + j] == Wait::returned || (w.wait[base + j] == Wait::warp && w.mask[base + j] == mask);
    if (!complete) continue;
    for (unsigned j = 0; j < lanes; j++)
      if (w.wait[base + j] == Wait::warp && w.mask[base + j] == mask) {
        w.exchanged[base + j] = w.value[base + j];
        make_ready(w, base + j);
      } else if (mask >> j & 1) {
        w.exchanged[base + j] = 0;
      }
    WW_CHECKED(ww_check_warp_barrier(base, lanes == 32 ? mask : mask & ((1u << lanes) - 1)));
  }
}

[[noreturn]] WW_COLD static void deadlock(Warps& w) {
  const Site *warp = nullptr, *block = nullptr;
  for (unsigned t = 0; t < w.threads; t++) {
    if (w.wait[t] == Wait::warp) warp = w.site[t];
    if (w.wait[t] == Wait::block) block = w.site[t];
  }
  char text[256];
  if (block)
    snprintf(text, sizeof text,
             "deadlock: some threads wait for their block at line %d, others for their warp at line %d", block->line,
             warp->line);
  else
    snprintf(text, sizeof text,
             "deadlock: lanes of one warp wait at line %d with masks that name lanes which wait elsewhere", warp->line);
  ww_fail(WW_DEADLOCK, warp->file, warp->line, text);
}

// No thread is ready: releases those whose barrier is complete.
static void release(Warps& w) {
  w.next_ready = w.num_ready = 0;
  if (w.num_at_block && w.num_at_block + w.num_returned == w.threads)
    release_block(w);
  else
    for (unsigned base = 0; base < w.threads; base += WW_WARP_SIZE) release_warp(w, base);
  if (w.num_ready == 0) deadlock(w);
}

static unsigned next_thread(Warps& w) {
  if (w.next_ready == w.num_ready) release(w);
  return w.ready[w.next_ready++];
}

// A function that is defined after this file may choose in another order.
#ifdef WW_NEXT_THREAD
static unsigned WW_NEXT_THREAD(Warps& w);
#else
#define WW_NEXT_THREAD next_thread
#endif

static WW_INLINE void switch_to(Warps& w, unsigned from, unsigned to) {
  if (from == to) return;
  threadIdx.x = to;
  WW_SWITCH(&w.fiber[from], w.fiber[to]);
}

__attribute__((noinline)) static void wait_here(Wait kind, uint32_t mask, uint64_t value, const Site* site) {
  Warps& w = warps();
  const unsigned me = threadIdx.x;
  w.wait[me] = kind;
  w.site[me] = site;
  w.mask[me] = mask;
  w.value[me] = value;
  if (kind == Wait::block) w.num_at_block++;
  switch_to(w, me, WW_NEXT_THREAD(w));
}

static WW_INLINE void sync(const Site* site) { wait_here(Wait::block, 0, 0, site); }

// Offers `value` to the lanes of `mask`; what they offered stands in warps().exchanged until they meet again.
static WW_INLINE const uint64_t* exchange(uint32_t mask, uint64_t value, const Site* site) {
  wait_here(Wait::warp, mask, value, site);
  return warps().exchanged + (threadIdx.x & ~(WW_WARP_SIZE - 1u));
}

// A runner's loop, with what a launch's arguments point to.
template <class Runner, class... A>
struct Unpacking {
  template <size_t... I>
  static WW_INLINE void unpack(void* const* args, std::index_sequence<I...>) {
    Runner::loop(*(A*)args[I]...);
  }
  static void body(void* const* args) { unpack(args, std::make_index_sequence<sizeof...(A)>()); }
};

template <auto kernel, unsigned threads>
struct WarpRunner;

template <class... A, void (*kernel)(A...), unsigned threads>
struct WarpRunner<kernel, threads> : Unpacking<WarpRunner<kernel, threads>, A...> {
  static void start_block(Warps& w) {
    w.num_ready = threads;
    w.next_ready = w.num_returned = w.num_at_block = 0;
    blockIdx.x = w.block;
    WW_CHECKED(ww_check_block(w.launch, threads));
    for (unsigned t = 0; t < threads; t++) {
      w.wait[t] = Wait::none;
      w.ready[t] = (uint16_t)WW_TURN(t);
    }
  }

  __attribute__((noinline)) WW_FLATTEN static void loop(A... args) {
    Warps& w = warps();
    for (;;) {
      WW_CHECKED(ww_check_inside(true));
      WW_CALL(kernel, args...);
      WW_CHECKED(ww_check_inside(false));
      const unsigned me = threadIdx.x;
      w.wait[me] = Wait::returned;
      if (++w.num_returned == threads) {
        if (++w.block == w.end) {
          void* unused;
          WW_SWITCH(&unused, w.caller);
        }
        start_block(w);
      }
      switch_to(w, me, WW_NEXT_THREAD(w));
    }
  }

  static void run(const ww_launch* launch, unsigned first, unsigned end) {
    Warps& w = warps();
    w.launch = launch;
    w.body = WarpRunner::body;
    w.threads = threads;
    w.block = first;
    w.end = end;
    for (unsigned t = 0; t < threads; t++) w.fiber[t] = ww_fresh_fiber(ww_stack_top(launch, t));
    start_block(w);
    threadIdx.x = WW_NEXT_THREAD(w);
    WW_SWITCH(&w.caller, w.fiber[threadIdx.x]);
  }
};

// More lanes than a block has threads, which take turns, in a check: the build has seen to it that they meet nothing. One
// fiber calls the kernel for each of them.
template <auto kernel, unsigned lanes>
struct TurnRunner;

template <class... A, void (*kernel)(A...), unsigned lanes>
struct TurnRunner<kernel, lanes> : Unpacking<TurnRunner<kernel, lanes>, A...> {
  __attribute__((noinline)) WW_FLATTEN static void loop(A... args) {
    Warps& w = warps();
    for (; w.block != w.end; w.block++) {
      blockIdx.x = w.block;
      WW_CHECKED(ww_check_block(w.launch, lanes));
      for (unsigned i = 0; i < lanes; i++) {
        threadIdx.x = WW_TURN(i);
        WW_CHECKED(ww_check_inside(true));
        WW_CALL(kernel, args...);
        WW_CHECKED(ww_check_inside(false));
      }
    }
    void* unused;
    WW_SWITCH(&unused, w.caller);
  }

  static void run(const ww_launch* launch, unsigned first, unsigned end) {
    Warps& w = warps();
    w.launch = launch;
    w.body = TurnRunner::body;
    w.block = first;
    w.end = end;
    threadIdx.x = 0;
    blockDim.x = lanes;  // what num_lanes() counts
    WW_SWITCH(&w.caller, ww_fresh_fiber(ww_stack_top(launch, 0)));
  }
};

template <auto kernel, unsigned lanes>
using Runner = std::conditional_t<(lanes > WW_MAX_THREADS), TurnRunner<kernel, lanes>, WarpRunner<kernel, lanes>>;

}  // namespace ww
