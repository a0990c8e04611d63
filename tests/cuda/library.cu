// The C++ library beside CUDA's words on a CPU: it writes __noinline__ itself, and has a min and a max of its own.
#include <warpworld.cuh>

#include <algorithm>

static __device__ __noinline__ float larger(float a, float b) { return max(a, b); }

extern "C" __global__ void extremes(const float* x, float* y) {
  const int i = agent_index();
  y[i * 3] = std::max(x[i], 0.25f), y[i * 3 + 1] = larger(x[i], 0.25f), y[i * 3 + 2] = std::min(1.0f, min(x[i], 2.0f));
}
