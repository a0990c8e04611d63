// Reads of what nobody has written, or of what the episode before has left.
#include <warpworld.cuh>

extern "C" __global__ void shared_row(float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  if (agent_id() == 0) row[0] = 1.0f;
  sync_env();  // row[0] is written, and nothing else
  y[agent_index()] = row[agent_id() == 3 ? 1 : 0];  // shared_row
}

extern "C" __global__ void shared_of_before(float* y, const int* timestep) {
  if (!is_active()) return;
  ENV_SHARED(float, kept, NUM_AGENTS);
  if (timestep[env_id()] == 1) kept[agent_id()] = 1.0f;
  if (timestep[env_id()] == 2) y[agent_index()] = kept[agent_id()];  // shared_of_before
}

extern "C" __global__ void array(const float* empty, float* y) {
  if (!is_active()) return;
  y[agent_index()] = empty[agent_index()];  // array
}

extern "C" __global__ void half(float* empty, float* y) {
  if (!is_active()) return;
  if (agent_id() != 2) empty[agent_index()] = 1.0f;
  sync_env();
  y[agent_index()] = empty[agent_index()];  // half
}

extern "C" __global__ void age(float* kept, float* y) {
  if (!is_active()) return;
  y[agent_index()] = kept[agent_index()];  // age
  kept[agent_index()] = y[agent_index()] + 1.0f;
}

extern "C" __global__ void forget(float* y, float* observations) {
  if (!is_active()) return;
  y[agent_index()] = observations[agent_index()] = 0.0f;
}

extern "C" __global__ void remember(float* kept, float* y, float* observations) {
  if (!is_active()) return;
  kept[agent_index()] = y[agent_index()] = observations[agent_index()] = 0.0f;
}

extern "C" __global__ void half_seen(float* kept, float* y, float* observations) {
  if (!is_active()) return;
  kept[agent_index()] = y[agent_index()] = 0.0f;
  if (agent_id() != 2) observations[agent_index()] = 0.0f;
}

extern "C" __global__ void trail(float* kept) {
  if (!is_active()) return;
  kept[agent_index()] = 1.0f;
}

extern "C" __global__ void half_forget(float* kept, float* observations) {
  if (!is_active()) return;
  if (agent_id() != 2) kept[agent_index()] = 0.0f;
  observations[agent_index()] = 0.0f;
}

extern "C" __global__ void too_early(float* x) {
  if (!is_active()) return;
  ENV_SHARED(float, line, NUM_AGENTS);
  line[agent_id()] = x[agent_index()];
  x[agent_index()] = line[(agent_id() + 1) % NUM_AGENTS];  // too_early
}

extern "C" __global__ void never(float* x) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS + 1);
  row[0] = x[agent_index()];  // raced
  sync_env();
  x[agent_index()] = row[NUM_AGENTS];  // never
}

// What shared memory holds at first is not defined, so a write to it changes it, whatever the launch before has left.
extern "C" __global__ void same_as_left(float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  if (agent_id() > 0) row[agent_id()] = 1.0f;                   // same_as_left before
  y[agent_index()] = row[agent_id() == 0 ? 3 : agent_id()];  // same_as_left
}
