// Operations of a warp: shuffles, votes, matches and reductions. Only in files that mention one; the build looks.
#pragma once

#include <stdint.h>
#include <string.h>

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

// ---- matches and reductions ----------------------------------------------------------------------------------------
namespace ww {

// Calls f(lane, its bits) for the lanes of a mask that the block has.
template <class Function>
static WW_INLINE void for_lanes(uint32_t mask, const uint64_t* offered, Function f) {
  const unsigned base = threadIdx.x & ~(WW_WARP_SIZE - 1u), threads = warps().threads;
  for (unsigned i = 0; i < WW_WARP_SIZE && base + i < threads; i++)
    if (mask >> i & 1) f(i, offered[i]);
}

template <class T>
static WW_INLINE unsigned lanes_alike(const Site* site, uint32_t mask, T value) {
  const uint64_t bits = to_bits(value), *offered = exchange(mask, bits, site);
  unsigned alike = 0;
  for_lanes(mask, offered, [&](unsigned lane, uint64_t other) { alike |= (unsigned)(other == bits) << lane; });
  return alike;
}

template <class T>
static WW_INLINE unsigned all_alike(const Site* site, uint32_t mask, T value, int* are_alike) {
  const uint64_t bits = to_bits(value), *offered = exchange(mask, bits, site);
  bool alike = true;
  for_lanes(mask, offered, [&](unsigned, uint64_t other) { alike &= other == bits; });
  *are_alike = alike;
  return alike ? mask : 0;
}

template <class T, class Operation>
static WW_INLINE T reduced(const Site* site, uint32_t mask, T value, Operation operation) {
  const uint64_t* offered = exchange(mask, to_bits(value), site);
  const unsigned own = threadIdx.x & (WW_WARP_SIZE - 1u);
  bool first = true;
  T result = value;
  for_lanes(mask, offered, [&](unsigned, uint64_t bits) {
    const T other = from_bits<T>(bits);
    result = first ? other : operation(result, other);
    first = false;
  });
  return mask >> own & 1 ? result : value;
}

static WW_INLINE int count_of_block(const Site* site, int predicate) {
  wait_here(Wait::block, 0, predicate != 0, site);
  return (int)warps().votes;
}
static WW_INLINE int all_of_block(const Site* site, int predicate) {
  wait_here(Wait::block, 0, predicate != 0, site);
  return warps().votes == warps().voters;
}

}  // namespace ww

#define __match_any_sync(mask, value) ww::lanes_alike(WW_SITE, (mask), (value))
#define __match_all_sync(mask, value, alike) ww::all_alike(WW_SITE, (mask), (value), (alike))
#define WW_REDUCED(mask, value, operation) \
  ww::reduced(WW_SITE, (mask), (value), [](auto a, auto b) -> decltype(a) { return operation; })
#define __reduce_add_sync(mask, value) WW_REDUCED(mask, value, a + b)
#define __reduce_min_sync(mask, value) WW_REDUCED(mask, value, b < a ? b : a)
#define __reduce_max_sync(mask, value) WW_REDUCED(mask, value, a < b ? b : a)
#define __reduce_and_sync(mask, value) WW_REDUCED(mask, value, a & b)
#define __reduce_or_sync(mask, value) WW_REDUCED(mask, value, a | b)
#define __reduce_xor_sync(mask, value) WW_REDUCED(mask, value, a ^ b)

#define __syncthreads_count(predicate) ww::count_of_block(WW_SITE, (predicate))
#define __syncthreads_and(predicate) ww::all_of_block(WW_SITE, (predicate))
#define __syncthreads_or(predicate) (ww::count_of_block(WW_SITE, (predicate)) != 0)
