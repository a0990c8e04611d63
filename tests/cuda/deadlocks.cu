// Warps and blocks that wait for each other, chosen by `mode`.
#include <warpworld.cuh>

extern "C" __global__ void step(const int* mode, float* x) {
  if (*mode == 1) {
    if (agent_id() == 2)
      __syncwarp();  // one lane of its warp
    else
      __syncthreads();  // the others of the block
  }
  if (*mode == 2) {
    if (agent_id() < 2)
      __syncwarp(0x7u);  // names a lane
    else
      __syncwarp(0xFEu);  // that names others
  }
  if (*mode == 3) {
    if (agent_id() % 2 == 1)
      __syncthreads();  // one site
    else
      __syncthreads();  // another site
  }
  __syncthreads();
  x[agent_index()] += 1.0f;
}
