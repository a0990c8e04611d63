// CUDA C++'s own words on the host: qualifiers, barriers, and the functions that nvcc knows without a header, a chapter of
// CUDA's reference in each file of cuda/. Included before the author's text; the scheduler header (ring.hpp or warps.hpp)
// comes first. CUDA's own headers stand in toolkit/, for files that include them.
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/c_math.hpp"

// ---- qualifiers ----------------------------------------------------------------------------------------------------
// A kernel is inlined where its blocks are run. `inline` saves compilers a second copy of it, which nothing calls;
// kernel_source.py looks for authors who say so themselves, since C++ takes the word but once. Checks report each kernel's own
// lines, whatever they are compiled with.
#if defined(__OPTIMIZE__) && !defined(WW_INLINE_KERNELS) && !defined(WW_CHECK)
#define __global__ inline
#else
#define __global__
#endif
#define __host__
#define __device__
#define __constant__
#define __managed__
#define __shared__ thread_local
#define __forceinline__ WW_INLINE
#define __noinline__  // empty, as the C++ library writes __attribute__((__noinline__))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __inline_hint__ inline
#define __align__(n) alignas(n)
#define __builtin_align__(n) alignas(n)

// ---- faults --------------------------------------------------------------------------------------------------------
// assert() of the C library ends here instead of in abort(): hidden, so only this module's asserts do.
extern "C" __attribute__((visibility("hidden"), noreturn, noinline, cold)) void __assert_fail(
    const char* expression, const char* file, unsigned line, const char*) noexcept {
  char text[256];
  snprintf(text, sizeof text, "assertion failed: %s", expression);
  ww_fail(WW_ASSERTION, file, (int)line, text);
}
#define __trap() ww_fail(WW_ASSERTION, __FILE__, __LINE__, "__trap() was called")

// ---- barriers ------------------------------------------------------------------------------------------------------
// A macro, because a return address does not identify the site: compilers copy and merge calls.
#define WW_SITE                                             \
  ({                                                        \
    static constexpr ww::Site ww_site_{__FILE__, __LINE__}; \
    &ww_site_;                                              \
  })

static constexpr int warpSize = WW_WARP_SIZE;

#if WW_MAX_THREADS_PER_ENV == 1 && !defined(WW_WARP_SCHEDULER)
#define __syncthreads() ((void)0)
#else
#define __syncthreads() ww::sync(WW_SITE)
#endif

#ifdef WW_WARP_SCHEDULER
#include "cuda/warp.hpp"
#endif

// ---- functions -----------------------------------------------------------------------------------------------------
#include "cuda/bits.hpp"
#ifdef WW_VECTORS  // before those that call them
#include "cuda/trigonometry.hpp"
#endif
#include "cuda/extremes.hpp"
#include "cuda/integers.hpp"
#include "cuda/mathematics.hpp"
#include "cuda/memory.hpp"
#include "cuda/vectors.hpp"

// Chapters that cost every compilation time and few kernels need: kernel_source.py looks for their words.
#ifdef WW_ROUNDING_WORDS
#include "cuda/rounding.hpp"
#endif
#ifdef WW_SIMD_WORDS
#include "cuda/simd.hpp"
#endif
#ifdef WW_SPECIAL_WORDS
#include "cuda/special.hpp"
#endif
#undef WW_OVERLOAD
