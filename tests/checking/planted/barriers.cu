// Barriers that do not meet, and kernels that are ended.
#include <warpworld.cuh>

extern "C" __global__ void two_sites(float* x) {
  if (!is_active()) return;
  if (agent_id() < 2)  // two_sites
    sync_env();
  else
    sync_env();
  x[agent_index()] += 1.0f;
}

extern "C" __global__ void around(float* x) {
  if (!is_active()) return;
  if (agent_id() != 2) sync_env();  // around
  x[agent_index()] += 1.0f;
}

extern "C" __global__ void before(float* x) {
  if (!is_active()) return;
  if (agent_id() == 2) {
    x[agent_index()] += 1.0f;
    return;
  }
  sync_env();
  x[agent_index()] += 1.0f;
}

__device__ void meet() { sync_env(); }

extern "C" __global__ void before_a_function(float* x) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;
  if (agent_id() == 2) return;
  meet();
}

extern "C" __global__ void warp_and_block(float* x) {
  if (threadIdx.x == 1)  // warp_and_block
    __syncwarp();
  else
    __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

extern "C" __global__ void assertion(float* x, const int* timestep) {
  if (!is_active()) return;
  assert(timestep[env_id()] < 5 || agent_id() != 3);  // assertion
  x[agent_index()] += 1.0f;
}

extern "C" __global__ void trap(const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 1 && timestep[env_id()] == 3) __trap();  // trap
}

extern "C" __global__ void endless(const float* x) {
  if (!is_active()) return;
  const float* own = &x[agent_index()];
  while (*own >= 0.0f) (void)*own;  // endless
}
