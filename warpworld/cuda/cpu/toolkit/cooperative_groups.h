// CUDA's cooperative groups on a CPU: the block, and tiles of a warp. What needs several blocks, or what the hardware happens
// to run together (coalesced_threads), is refused by name.
#pragma once

#ifndef WW_WARP_SCHEDULER
#error "cooperative_groups.h: include it in the file of the kernels, or in a header beside that file"
#endif

#include "../cuda/vectors.hpp"
#include "../cuda/warp.hpp"

namespace ww {

// The site of a barrier that is a method: one for each line that calls it.
static inline const Site* site_at(const char* file, int line) {
  static thread_local Site sites[64];
  static thread_local int count;
  for (int i = 0; i < count; i++)
    if (sites[i].line == line && sites[i].file == file) return &sites[i];
  if (count == 64) ww_fail(WW_ASSERTION, file, line, "methods of groups are called from more than 64 lines");
  sites[count] = {file, line};
  return &sites[count++];
}

}  // namespace ww

#define WW_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define WW_CALLED ww::site_at(file, line)

namespace cooperative_groups {

class thread_block {
 public:
  void sync(WW_CALLER) const { ww::sync(WW_CALLED); }
  static unsigned thread_rank() { return threadIdx.x; }
  static unsigned long long size() { return blockDim.x; }
  static unsigned num_threads() { return blockDim.x; }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
static inline thread_block this_thread_block() { return {}; }

// `Size` neighbouring lanes of a warp; in a block that ends within a tile, those that the block has.
template <unsigned Size, class Parent = void>
class thread_block_tile {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0 && Size > 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

 public:
  static unsigned mask() {
    return (0xFFFFFFFFu >> (32 - Size)) << (threadIdx.x & (WW_WARP_SIZE - 1u) & ~(Size - 1u));
  }
  static unsigned first_lane() { return threadIdx.x & (WW_WARP_SIZE - 1u) & ~(Size - 1u); }
  static unsigned thread_rank() { return threadIdx.x & (Size - 1u); }
  static constexpr unsigned long long size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned meta_group_rank() { return threadIdx.x / Size; }
  static unsigned meta_group_size() { return (blockDim.x + Size - 1) / Size; }

  void sync(WW_CALLER) const { ww::WarpBarrier{WW_CALLED}(mask()); }
  template <class Type>
  Type shfl(Type value, int rank, WW_CALLER) const {
    return ww::shuffled<ww::Shuffle::to>(WW_CALLED, mask(), value, rank, Size);
  }
  template <class Type>
  Type shfl_up(Type value, int steps, WW_CALLER) const {
    return ww::shuffled<ww::Shuffle::up>(WW_CALLED, mask(), value, steps, Size);
  }
  template <class Type>
  Type shfl_down(Type value, int steps, WW_CALLER) const {
    return ww::shuffled<ww::Shuffle::down>(WW_CALLED, mask(), value, steps, Size);
  }
  template <class Type>
  Type shfl_xor(Type value, int bits, WW_CALLER) const {
    return ww::shuffled<ww::Shuffle::exclusive_or>(WW_CALLED, mask(), value, bits, Size);
  }
  unsigned ballot(int predicate, WW_CALLER) const { return ww::ballot(WW_CALLED, mask(), predicate) >> first_lane(); }
  int any(int predicate, WW_CALLER) const { return ww::ballot(WW_CALLED, mask(), predicate) != 0; }
  int all(int predicate, WW_CALLER) const { return ww::ballot(WW_CALLED, mask(), !predicate) == 0; }
  template <class Type>
  unsigned match_any(Type value, WW_CALLER) const {
    return ww::lanes_alike(WW_CALLED, mask(), value) >> first_lane();
  }
  template <class Type>
  unsigned match_all(Type value, int& alike, WW_CALLER) const {
    return ww::all_alike(WW_CALLED, mask(), value, &alike) >> first_lane();
  }
};

template <unsigned Size, class Parent>
static inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

template <class Group>
static inline void sync(const Group& group, WW_CALLER) {
  group.sync(file, line);
}
template <class Group>
static inline unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
static inline unsigned group_size(const Group& group) {
  return group.num_threads();
}

}  // namespace cooperative_groups
