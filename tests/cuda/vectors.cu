// Kernels of envs that run side by side on a CPU.
#include <warpworld.cuh>

ENVS_IN_VECTORS;

extern "C" __global__ void step(const float* x, const int* offset, float* sine, float* cosine, int* count) {
  if (!is_active()) return;
  const int i = agent_index();
  sine[i] = sinf(x[i]);
  cosine[i] = cosf(x[i]);
  if (*offset < 0) atomicAdd(count, 1);
}

extern "C" __global__ void follow(const int* offset, float* sine) {
  if (!is_active()) return;
  sine[agent_index()] += sine[agent_index() + (env_id() >= 100 ? (int64_t)*offset << 32 : 0)];
}
