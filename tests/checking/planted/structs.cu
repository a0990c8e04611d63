// Kernels that take arrays in structs, each with one fault.
#include <warpworld.cuh>

struct Counters {
  int *hits, *total;
};

struct Skaters {
  float *x, *y;
  const float* fixed;
  Counters counters;

  WW_METHOD float after(int i) const { return x[i + 1]; }
};

extern "C" __global__ void counts(Skaters skaters) {
  if (!is_active()) return;
  skaters.counters.hits[env_id()] += 1;  // counts
}

extern "C" __global__ void moves(Skaters skaters, float* side) {
  if (!is_active()) return;
  skaters.x[agent_index()] += 1.0f;  // moves before
  side[agent_index()] = agent_id() == 0 ? 0.5f : skaters.x[agent_index() - 1];  // moves
}

extern "C" __global__ void past_its_agents(Skaters skaters) {
  if (!is_active()) return;
  skaters.y[agent_index()] = env_id() == 0 && agent_id() == 0 ? skaters.x[100001] : 0.0f;  // past the end
}

extern "C" __global__ void writes_what_is_const(Skaters skaters) {
  if (!is_active()) return;
  if (agent_id() == 3) ((float*)skaters.fixed)[agent_index()] = 1.0f;  // writes_what_is_const
}

extern "C" __global__ void is_clean(Skaters skaters) {
  if (!is_active()) return;
  skaters.x[agent_index()] += skaters.fixed[agent_index()];
  sync_env();
  skaters.y[agent_index()] = skaters.x[env_id() * NUM_AGENTS];
  if (agent_id() == 0) skaters.counters.hits[env_id()] += 1;
}
