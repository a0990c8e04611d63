// Threads of a block in a perturbed order: any that is ready may be the next one, a warp may pass its barriers before
// another one has begun, and a thread may be interrupted at its atomic operations.
#pragma once

#include "cpu/atomics.hpp"
#include "cpu/warps.hpp"
#include "perturbation.hpp"

namespace ww {

// Whether the block has a warp that begins with the thread `base`, and none of its lanes can run. Only then may its
// barriers open: what a lane is offered at one barrier is kept until that lane has run.
static inline bool warp_waits(const Warps& w, unsigned base) {
  if (base >= w.threads) return false;  // a larger launch ended in that warp
  for (unsigned t = base; t < base + WW_WARP_SIZE && t < w.threads; t++)
    if (w.wait[t] == Wait::none) return false;
  return true;
}

// A warp whose threads come first for a while, so that it may be far ahead of the others; half of the time there is none.
static inline unsigned preferred_warp(const Warps& w) {
  const unsigned num_warps = (w.threads + WW_WARP_SIZE - 1) / WW_WARP_SIZE;
  return (unsigned)(stand_in::mixed(stand_in_perturbed.seed + stand_in_perturbed.choices / 256) % (2 * num_warps));
}

static unsigned choose_ready(const Warps& w) {
  const unsigned warp = preferred_warp(w), place = stand_in::draw_below(w.num_ready);
  for (unsigned i = place; i < w.num_ready; i++)
    if (w.ready[i] / WW_WARP_SIZE == warp) return i;
  for (unsigned i = 0; i < place; i++)
    if (w.ready[i] / WW_WARP_SIZE == warp) return i;
  return place;
}

static unsigned WW_NEXT_THREAD(Warps& w) {
  if (!stand_in::is_perturbed()) return next_thread(w);
  const unsigned base = threadIdx.x & ~(WW_WARP_SIZE - 1u);
  if (stand_in::draw_below(2) && warp_waits(w, base)) release_warp(w, base);
  if (w.num_ready == 0) release(w);
  const unsigned place = choose_ready(w), thread = w.ready[place];
  w.ready[place] = w.ready[--w.num_ready];
  return thread;
}

__attribute__((noinline)) static void interrupt() {
  Warps& w = warps();
  const unsigned me = threadIdx.x;
  make_ready(w, me);
  switch_to(w, me, WW_NEXT_THREAD(w));
}

static WW_INLINE void maybe_interrupt() {
  if (stand_in::is_perturbed() && stand_in::draw_below(2)) interrupt();
}

}  // namespace ww

// A macro's own name is not replaced again within it.
#define atomicAdd(...) (ww::maybe_interrupt(), atomicAdd(__VA_ARGS__))
#define atomicSub(...) (ww::maybe_interrupt(), atomicSub(__VA_ARGS__))
#define atomicExch(...) (ww::maybe_interrupt(), atomicExch(__VA_ARGS__))
#define atomicMin(...) (ww::maybe_interrupt(), atomicMin(__VA_ARGS__))
#define atomicMax(...) (ww::maybe_interrupt(), atomicMax(__VA_ARGS__))
#define atomicAnd(...) (ww::maybe_interrupt(), atomicAnd(__VA_ARGS__))
#define atomicOr(...) (ww::maybe_interrupt(), atomicOr(__VA_ARGS__))
#define atomicXor(...) (ww::maybe_interrupt(), atomicXor(__VA_ARGS__))
#define atomicInc(...) (ww::maybe_interrupt(), atomicInc(__VA_ARGS__))
#define atomicDec(...) (ww::maybe_interrupt(), atomicDec(__VA_ARGS__))
#define atomicCAS(...) (ww::maybe_interrupt(), atomicCAS(__VA_ARGS__))
