// Lanes of a warp that meet at __syncwarp, or do not.
#include <warpworld.cuh>

extern "C" __global__ void no_syncwarp(const float* x, float* y) {
  __shared__ float line[NUM_AGENTS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  line[threadIdx.x] = x[i];                             // no_syncwarp before
  if (threadIdx.x > 0) y[i] = line[threadIdx.x - 1];  // no_syncwarp
}

// The pairs of lanes meet, but whoever reads across pairs has met nobody.
extern "C" __global__ void wrong_lanes(const float* x, float* y) {
  __shared__ float line[NUM_AGENTS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  line[threadIdx.x] = x[i];                         // wrong_lanes before
  __syncwarp(threadIdx.x < 2 ? 0x3u : 0xCu);
  if (threadIdx.x == 2) y[i] = line[1];  // wrong_lanes
}

extern "C" __global__ void syncwarp(const float* x, float* y) {
  __shared__ float line[NUM_AGENTS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  line[threadIdx.x] = x[i];
  __syncwarp(threadIdx.x < 2 ? 0x3u : 0xCu);  // each pair's line is written
  y[i] = line[threadIdx.x ^ 1];
  __syncwarp(threadIdx.x < 2 ? 0x3u : 0xCu);  // each pair's line is read
  line[threadIdx.x ^ 1] = __shfl_xor_sync(0xFu, y[i], 2);
}
