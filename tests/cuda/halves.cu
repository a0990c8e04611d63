// Halves of floats and floats of halves; and what is written without a word.
#include <half.cuh>

extern "C" __global__ void convert(const float* floats, __half* halves, const __half* given, float* back) {
  if (!is_active()) return;
  for (int i = lane(); i < NUMBERS; i += num_lanes()) {
    const int at = env_id() * NUMBERS + i;
    halves[at] = __float2half(floats[at]);
    back[at] = __half2float(given[at]);
  }
}

extern "C" __global__ void words(half* h, const int* whole, float* x) {
  if (!is_active()) return;
  half* mine = h + agent_index() * 6;
  mine[0] = 0.1f;
  mine[1] = (half)0.1f;
  mine[2] = whole[agent_index()];
  mine[3] = (uint8_t)200;
  mine[4] = 100000u;
  mine[5] = whole[agent_index()] > 0 ? mine[0] : mine[2];
  const float y = mine[5];
  x[agent_index()] = (float)mine[0] + 2.0f * y + fmaxf(mine[1], 0.0f);
}
