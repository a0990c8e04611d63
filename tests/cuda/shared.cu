// Barriers and shared memory, in CUDA's words and in the header's.
#include <warpworld.cuh>

extern "C" __global__ void reverse(const float* x, float* y) {
  __shared__ float row[NUM_AGENTS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  row[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = row[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void reverse_env(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id()] = x[agent_index()];
  sync_env();
  y[agent_index()] = row[NUM_AGENTS - 1 - agent_id()];
}

struct Pair {
  float value;
  int agent;
};

// Barriers in a loop and in a function; two shared arrays of different types. The running sum, and who is the largest.
__device__ void halve(Pair* pairs, int width) {
  sync_env();
  if (lane() < width && lane() + width < num_lanes() && pairs[lane()].value < pairs[lane() + width].value)
    pairs[lane()] = pairs[lane() + width];
}

extern "C" __global__ void collect(const float* x, const int* whole, int* sums, int* largest) {
  if (!is_active()) return;
  ENV_SHARED(int, sum, NUM_AGENTS);
  ENV_SHARED(Pair, pairs, NUM_AGENTS);
  sum[lane()] = whole[agent_index()];
  pairs[lane()] = Pair{x[agent_index()], agent_id()};
  for (int distance = 1; distance < num_lanes(); distance *= 2) {
    sync_env();  // every sum of the round before is written
    const int before = lane() >= distance ? sum[lane() - distance] : 0;
    sync_env();  // every sum of the round before is read
    sum[lane()] += before;
  }
  for (int width = 512; width > 0; width /= 2) halve(pairs, width);
  sync_env();
  sums[agent_index()] = sum[lane()];
  largest[agent_index()] = pairs[0].agent;
}

extern "C" __global__ void places(int* place) {
  int* p = place + agent_index() * 8;
  p[0] = blockIdx.x, p[1] = threadIdx.x, p[2] = gridDim.x, p[3] = blockDim.x;
  sync_env();
  p[4] = env_id(), p[5] = agent_id(), p[6] = lane(), p[7] = num_lanes();
}

// A kernel of one thread in a file where others have many: its barriers do nothing.
extern "C" __global__ void alone(int* calls) {
  __syncthreads();
  calls[env_id()]++;
  sync_env();
}

// What suspended agents hold must survive the others' turns: floats, doubles, 64-bit numbers and an array.
extern "C" __global__ void hold(const float* x, double* held) {
  const float seen = x[agent_index()];
  double squares[4];
  unsigned long long bits = 0x0123456789ABCDEFull * (unsigned)(agent_index() + 1);
  for (int k = 0; k < 4; ++k) {
    squares[k] = (double)seen * seen + k;
    sync_env();
    bits = bits << 7 | bits >> 57;
  }
  long double total = 0;
  for (int k = 0; k < 4; ++k) {
    total += squares[k];
    sync_env();
  }
  held[agent_index()] = (double)total + (double)(bits >> 40);
}

extern "C" __global__ void side_by_side(bool* y) {
  if (is_active()) y[agent_index()] = LANES_SIDE_BY_SIDE;
}
