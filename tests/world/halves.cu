// Halves of floats and floats of halves; and a walk that is seen in float16.
#include <half.cuh>

extern "C" __global__ void convert(const float* floats, __half* halves, const __half* given, float* back) {
  if (!is_active()) return;
  for (int i = lane(); i < NUMBERS; i += num_lanes()) {
    const int at = env_id() * NUMBERS + i;
    halves[at] = __float2half(floats[at]);
    back[at] = __half2float(given[at]);
  }
}
