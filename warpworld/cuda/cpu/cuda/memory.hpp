// Loads and stores with a hint for the caches, which mean nothing here; fences; time; what a compiler may assume.
#pragma once

#include <time.h>

#include "../fiber.hpp"

#define WW_LOAD(name)  \
  template <class Type> \
  static WW_INLINE Type name(const Type* p) { return *p; }
WW_LOAD(__ldg)
WW_LOAD(__ldca)
WW_LOAD(__ldcg)
WW_LOAD(__ldcs)
WW_LOAD(__ldcv)
WW_LOAD(__ldlu)
#undef WW_LOAD

#define WW_STORE(name)                                \
  template <class Type>                                \
  static WW_INLINE void name(Type* p, ww::Value<Type> value) { *p = value; }
WW_STORE(__stcg)
WW_STORE(__stcs)
WW_STORE(__stwb)
WW_STORE(__stwt)
#undef WW_STORE

static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// Ticks of the processor's own counter. clock() is the C library's, in microseconds.
static WW_INLINE long long clock64() {
#if defined(__x86_64__)
  return (long long)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  long long ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return (long long)clock();
#endif
}
// The threads of a block take turns: none can wait for another by sleeping.
static WW_INLINE void __nanosleep(unsigned) {}
static WW_INLINE void __prof_trigger(int) {}
static WW_INLINE void __brkpt() {}

#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
#define __assume(condition) ((void)0)
