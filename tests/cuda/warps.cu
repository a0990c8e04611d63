// Warp operations: shuffles, votes, partial masks, and the two kinds of barrier together.
#include <warpworld.cuh>

#define FULL 0xFFFFFFFFu

// Sums of a block, and which lanes hold more than one half. The block is a whole number of warps.
extern "C" __global__ void reduce(const float* x, float* down, float* across, unsigned* halves) {
  __shared__ float parts[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, me = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int warps = (blockDim.x + 31) / 32;
  float sum = x[i], all = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(FULL, sum, offset);
    all += __shfl_xor_sync(FULL, all, offset);
  }
  across[i] = all;
  halves[i] = __ballot_sync(FULL, x[i] > 0.5f);
  if (me == 0) parts[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = me < warps ? parts[me] : 0.0f;
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(FULL, sum, offset);
    if (me == 0) down[blockIdx.x] = sum;
  }
}

// Two halves of a warp go different ways, then meet.
extern "C" __global__ void halves(const int* whole, int* out) {
  const int me = threadIdx.x & 31, i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = whole[i];
  if (me < 16) {
    for (int distance = 1; distance < 16; distance <<= 1) {
      const int before = __shfl_up_sync(0xFFFFu, value, distance);
      if (me >= distance) value += before;
    }
  } else {
    value = __shfl_sync(0xFFFF0000u, value * 10, 31);
  }
  __syncwarp();
  out[i] = value + __shfl_xor_sync(FULL, value, 16);
}

// Sections of eight lanes, in four types.
extern "C" __global__ void sections(const float* x, const int* whole, float* up, double* to, long long* down,
                                    unsigned* x_or) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  up[i] = __shfl_up_sync(FULL, x[i], 3, 8);
  to[i] = __shfl_sync(FULL, (double)x[i] * 3.0, 10, 8);
  down[i] = __shfl_down_sync(FULL, (long long)whole[i] * (1ll << 33), 2, 8);
  x_or[i] = __shfl_xor_sync(FULL, (unsigned)whole[i], 9, 8);
}

// Lanes that return are left out of what the others vote, and whoever returns right after a vote was in it.
extern "C" __global__ void votes(const int* whole, unsigned* ballots, bool* any, bool* all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, me = threadIdx.x & 31;
  if (me % 8 == 5) return;
  ballots[i * 2] = __ballot_sync(FULL, whole[i] % 2 == 0);
  any[i] = __any_sync(FULL, whole[i] == 3);
  all[i] = __all_sync(FULL, whole[i] != 3);
  if (me % 4 == 2) return;
  ballots[i * 2 + 1] = __ballot_sync(FULL, 1);
  if (me % 4 == 1) return;
  __syncthreads();
  ballots[i * 2 + 1] += 1u;
}

// A warp per group of agents, each in its own number of rounds between barriers of the block.
extern "C" __global__ void mixed(const int* whole, int* out) {
  ENV_SHARED(int, totals, 32);
  const int warp = threadIdx.x >> 5, i = agent_index();
  int value = whole[i];
  for (int round = 0; round <= warp; ++round) value += __shfl_xor_sync(FULL, value, 1 << round % 5);
  if ((threadIdx.x & 31) == 0) totals[warp] = value;
  __syncthreads();
  for (int w = 0; w < (int)blockDim.x / 32; ++w) value += totals[w];
  __syncwarp();
  out[i] = value;
}
