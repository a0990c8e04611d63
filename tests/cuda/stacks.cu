// Where the stacks of agents lie on a CPU; nvcc offers no word for that.
#include <warpworld.cuh>

// How far frames are from where callers must put them: compilers rely on a multiple of 16.
extern "C" __global__ void frames(int* off) {
  off[agent_index() * 2] = (int)((uintptr_t)__builtin_frame_address(0) & 15u);
  sync_env();
  off[agent_index() * 2 + 1] = (int)((uintptr_t)__builtin_frame_address(0) & 15u);
}
