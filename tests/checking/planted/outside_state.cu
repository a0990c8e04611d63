// State outside of the store.
#include <warpworld.cuh>

#include <string>
#include <vector>

static std::vector<float> history(64, 1.0f);  // history
namespace {
std::vector<int> counts(8);  // counts
}
struct Log {
  std::string text;
};
Log kept;  // kept
static const float weights[2] = {1.0f, 2.0f};
constexpr int TIMES = 2;
__device__ float offset = 0.0f;

__device__ float remembered(float value) {
  static float last = 0.0f;  // last
  static const float scale = 2.0f;
  return value + scale * last;
}

extern "C" __global__ void step(float* x) {
  if (!is_active()) return;
  static std::vector<float> seen(8, 1.0f);  // seen
  history[agent_index()] = x[agent_index()] * weights[0] * TIMES + offset + seen[0];
  counts[agent_id()] += 1;
  x[agent_index()] = remembered(history[agent_index()]) * 0.1f;
}

extern "C" __global__ void plain(float* x) {
  if (!is_active()) return;
  x[agent_index()] += weights[agent_id() % 2];
}
