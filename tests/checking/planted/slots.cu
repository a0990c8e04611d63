// Indices below and above shared arrays: where envs share a block, another env's part lies there.
#include <warpworld.cuh>

extern "C" __global__ void below_read(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id()] = x[agent_index()];
  sync_env();
  y[agent_index()] = row[agent_id() - 1];  // below_read
}

extern "C" __global__ void below_write(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id()] = x[agent_index()];
  sync_env();
  if (agent_id() == 0) row[agent_id() - 1] = 5.0f;  // below_write
  sync_env();
  y[agent_index()] = row[agent_id()];
}

extern "C" __global__ void far_below(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id()] = x[agent_index()];
  sync_env();
  y[agent_index()] = row[agent_id() - 3];  // far_below
}

extern "C" __global__ void below_atomic(float* y) {
  if (!is_active()) return;
  ENV_SHARED(int, row, NUM_AGENTS);
  row[agent_id()] = 0;
  sync_env();
  atomicAdd(&row[agent_id() - 1], 1);  // below_atomic
  sync_env();
  y[agent_index()] = (float)row[agent_id()];
}

extern "C" __global__ void above_read(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id()] = x[agent_index()];
  sync_env();
  y[agent_index()] = row[agent_id() + 1];  // above_read
}
