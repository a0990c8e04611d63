// Warps and groups: votes, matches, reductions, of a block of 20 threads, whose only warp is not full.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void gather(const int* given, int* found) {
  const int i = agent_index(), value = given[i];
  int* mine = found + i * 16;
  mine[0] = (int)__match_any_sync(0xFFFFFu, value);
  int alike;
  mine[1] = (int)__match_all_sync(0xFFFFFu, value, &alike);
  mine[2] = alike;
  mine[3] = __reduce_add_sync(0xFFFFFu, value);
  mine[4] = __reduce_min_sync(0xFFFFFu, value);
  mine[5] = __reduce_max_sync(0xFFFFFu, value);
  mine[6] = (int)__reduce_xor_sync(0xFFFFFu, (unsigned)value);
  mine[7] = __syncthreads_count(value > 2);
  mine[8] = __syncthreads_and(value >= 0) * 2 + __syncthreads_or(value > 100);
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<4>(block);
  mine[9] = cg::reduce(tile, value, cg::plus<int>());
  mine[10] = (int)tile.ballot(value > 2);
  mine[11] = tile.shfl(value, 3) * 100 + tile.shfl_xor(value, 1) * 10 + tile.shfl_down(value, 1);
  mine[12] = (int)tile.thread_rank() * 100 + (int)tile.meta_group_rank();
  mine[13] = tile.any(value == 3) * 10 + tile.all(value < 5);
  block.sync();
  mine[14] = (int)block.thread_rank() * 100 + (int)block.size();
  mine[15] = cg::reduce(tile, value, cg::greater<int>()) * 10 + cg::reduce(tile, value, cg::less<int>());
}
