// CUDA C++'s own words on the host: qualifiers, vector types, barriers, warp operations, math. Included before the
// author's text; the scheduler header (ring.hpp or warps.hpp) comes first.
#pragma once

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- qualifiers ----------------------------------------------------------------------------------------------------
#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __shared__ thread_local
#define __forceinline__ WW_INLINE
#define __noinline__  // empty, as the C++ library writes __attribute__((__noinline__))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

// ---- vector types --------------------------------------------------------------------------------------------------
#define WW_VECTOR(type, name, alignment_2, alignment_4)                                                       \
  struct alignas(alignment_2) name##2 { type x, y; };                                                         \
  struct name##3 { type x, y, z; };                                                                           \
  struct alignas(alignment_4) name##4 { type x, y, z, w; };                                                   \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                     \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                          \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
WW_VECTOR(float, float, 8, 16)
WW_VECTOR(int, int, 8, 16)
WW_VECTOR(unsigned, uint, 8, 16)
WW_VECTOR(double, double, 16, 16)
#undef WW_VECTOR

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
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#if WW_MAX_THREADS_PER_ENV == 1 && !defined(WW_WARP_SCHEDULER)
#define __syncthreads() ((void)0)
#else
#define __syncthreads() ww::sync(WW_SITE)
#endif

#ifdef WW_WARP_SCHEDULER
namespace ww {

template <class T>
static WW_INLINE uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp operations take values of at most 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
static WW_INLINE T from_bits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

enum class Shuffle { to, up, down, exclusive_or };

// A lane whose source lies outside its section of `width` lanes gets its own value back.
template <Shuffle shuffle, class T>
static WW_INLINE T shuffled(const Site* site, uint32_t mask, T value, int operand, int width = WW_WARP_SIZE) {
  const uint64_t* offered = exchange(mask, to_bits(value), site);
  const int lane = (int)(threadIdx.x & (WW_WARP_SIZE - 1u)), section = lane & ~(width - 1), in_section = lane - section;
  int source = lane;
  if (shuffle == Shuffle::to) source = section + (operand & (width - 1));
  if (shuffle == Shuffle::up && in_section >= operand) source = lane - operand;
  if (shuffle == Shuffle::down && in_section + operand < width) source = lane + operand;
  if (shuffle == Shuffle::exclusive_or && (lane ^ operand) < section + width) source = lane ^ operand;
  return mask >> source & 1 ? from_bits<T>(offered[source]) : value;
}

static inline unsigned ballot(const Site* site, uint32_t mask, int predicate) {
  const uint64_t* offered = exchange(mask, predicate != 0, site);
  const Warps& w = warps();
  const unsigned base = threadIdx.x & ~(WW_WARP_SIZE - 1u);
  unsigned votes = 0;
  for (unsigned i = 0; i < WW_WARP_SIZE && base + i < w.threads; i++)
    if (mask >> i & 1) votes |= (unsigned)offered[i] << i;
  return votes;
}

}  // namespace ww

#define __syncwarp(...) ww::WarpBarrier{WW_SITE}(__VA_ARGS__)
#define __shfl_sync(...) ww::shuffled<ww::Shuffle::to>(WW_SITE, __VA_ARGS__)
#define __shfl_up_sync(...) ww::shuffled<ww::Shuffle::up>(WW_SITE, __VA_ARGS__)
#define __shfl_down_sync(...) ww::shuffled<ww::Shuffle::down>(WW_SITE, __VA_ARGS__)
#define __shfl_xor_sync(...) ww::shuffled<ww::Shuffle::exclusive_or>(WW_SITE, __VA_ARGS__)
#define __ballot_sync(mask, predicate) ww::ballot(WW_SITE, (mask), (predicate))
#define __any_sync(mask, predicate) (ww::ballot(WW_SITE, (mask), (predicate)) != 0)
#define __all_sync(mask, predicate) (ww::ballot(WW_SITE, (mask), !(predicate)) == 0)

namespace ww {
struct WarpBarrier {
  const Site* site;
  WW_INLINE void operator()(uint32_t mask = 0xFFFFFFFFu) const { exchange(mask, 0, site); }
};
}  // namespace ww
#endif

// ---- math: global overloads as CUDA has them -----------------------------------------------------------------------
#define WW_MIN_MAX(A, B, R)                                                                      \
  static WW_INLINE R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }                         \
  static WW_INLINE R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
WW_MIN_MAX(int, int, int)
WW_MIN_MAX(unsigned, unsigned, unsigned)
WW_MIN_MAX(int, unsigned, unsigned)
WW_MIN_MAX(unsigned, int, unsigned)
WW_MIN_MAX(long, long, long)
WW_MIN_MAX(unsigned long, unsigned long, unsigned long)
WW_MIN_MAX(long, unsigned long, unsigned long)
WW_MIN_MAX(unsigned long, long, unsigned long)
WW_MIN_MAX(long long, long long, long long)
WW_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WW_MIN_MAX(long long, unsigned long long, unsigned long long)
WW_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef WW_MIN_MAX
#define WW_MIN_MAX(A, B, R, suffix)                                                              \
  static WW_INLINE R min(A a, B b) { return __builtin_fmin##suffix((R)a, (R)b); }                \
  static WW_INLINE R max(A a, B b) { return __builtin_fmax##suffix((R)a, (R)b); }
WW_MIN_MAX(float, float, float, f)
WW_MIN_MAX(double, double, double, )
WW_MIN_MAX(float, double, double, )
WW_MIN_MAX(double, float, double, )
#undef WW_MIN_MAX

static WW_INLINE float __fdividef(float a, float b) { return a / b; }
// C libraries declare these six (rsqrtf since glibc 2.42), so they cannot be static.
WW_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
WW_INLINE float __sinf(float x) { return sinf(x); }
WW_INLINE float __cosf(float x) { return cosf(x); }
WW_INLINE float __expf(float x) { return expf(x); }
WW_INLINE float __logf(float x) { return logf(x); }
WW_INLINE float __powf(float x, float y) { return powf(x, y); }
static WW_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static WW_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static WW_INLINE void sincospif(float x, float* sine, float* cosine) {
  *sine = sinf(3.14159265358979323846f * x);
  *cosine = cosf(3.14159265358979323846f * x);
}
static WW_INLINE float __int_as_float(int bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static WW_INLINE int __float_as_int(float value) {
  int bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static WW_INLINE unsigned __float_as_uint(float value) { return (unsigned)__float_as_int(value); }
static WW_INLINE float __uint_as_float(unsigned bits) { return __int_as_float((int)bits); }
static WW_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
static WW_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static WW_INLINE int __ffs(int x) { return __builtin_ffs(x); }
static WW_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static WW_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static WW_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
static WW_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
template <class T>
static WW_INLINE T __ldg(const T* p) { return *p; }
