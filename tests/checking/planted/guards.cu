// Kernels without `if (!is_active()) return;`.
#include <warpworld.cuh>

extern "C" __global__ void open_step(float* x) {
  x[agent_index()] += 1.0f;  // open_step
}

extern "C" __global__ void open_reset(float* x, float* observations) {
  x[agent_index()] = 0.0f;  // open_reset
  if (is_active()) observations[agent_index()] = 0.0f;
}

extern "C" __global__ void guarded_step(float* x) {
  const float before = x[agent_index()];  // a lane without an agent may read
  if (!is_active()) return;
  x[agent_index()] = before + 1.0f;
}

extern "C" __global__ void guarded_reset(float* x, float* observations) {
  if (is_active()) x[agent_index()] = observations[agent_index()] = 0.0f;
}

extern "C" __global__ void open_twice(float* x, float* rewards) {
  x[agent_index()] += 1.0f;  // open_twice
  rewards[agent_index()] = x[agent_index()];
}
