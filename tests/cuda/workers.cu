// Kernels whose results would show a lost, doubled or misplaced env.
#include <warpworld.cuh>

// A random walk in which neighbours pull at each other, and which some agents leave early.
extern "C" __global__ void wander(float* position, unsigned* draws) {
  if (!is_active()) return;
  ENV_SHARED(float, seen, NUM_AGENTS);
  Random random = Random::agent();
  const int i = agent_index();
  const float x = position[i] * 0.99f + random.uniform(-1.0f, 1.0f) + 0.1f * random.normal();
  seen[agent_id()] = x;
  position[i] = x;
  draws[i] ^= random.bits();
  if (random.below(4u) == 0u) return;
  sync_env();  // every place is seen before any is changed
  position[i] = x + 0.25f * (seen[(agent_id() + 1) % NUM_AGENTS] - x);
}

extern "C" __global__ void tally(int* calls, unsigned long long* total) {
  sync_env();
  atomicAdd(&calls[env_id()], agent_id() + 1);
  atomicAdd(total, (unsigned long long)(env_id() + 1));
}

// Smaller than any normal float.
extern "C" __global__ void shrink(const float* small, float* product) {
  product[agent_index()] = small[agent_index()] * 1e-20f;
}
