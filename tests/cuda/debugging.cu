// What tests/cuda/test_debugger.py stops in. The marks name lines.
#include <warpworld.cuh>

__device__ __forceinline__ float doubled(float x) { return 2.0f * x; }  // helper

extern "C" __global__ void step(float* x, int* met) {
  if (!is_active()) return;
  ENV_SHARED(float, seen, NUM_AGENTS);
  const int i = agent_index();
  x[i] = doubled((float)(i + 1));
  seen[agent_id()] = x[i];  // stop
  sync_env();               // barrier
  float sum = 0.0f;         // behind
  for (int other = 0; other < NUM_AGENTS; other++) sum += seen[other];
  if (agent_id() == 0) met[env_id()] = (int)sum;
}
