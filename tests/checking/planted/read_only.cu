// Writes to arrays that kernels may only read, by a cast.
#include <warpworld.cuh>

extern "C" __global__ void own_action(const int* actions) {
  if (!is_active()) return;
  if (agent_id() == 1) ((int*)actions)[agent_index()] = 7;  // own_action
}

extern "C" __global__ void later(const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 0) const_cast<int*>(timestep)[env_id()] += 1;  // later
}

extern "C" __global__ void shape_of(const float* fixed) {
  if (!is_active()) return;
  if (agent_id() == 2) *(float*)(fixed + agent_index()) = 2.0f;  // shape_of
}

extern "C" __global__ void added(const float* fixed) {
  if (!is_active()) return;
  if (agent_id() == 3) atomicAdd((float*)(fixed + agent_index()), 1.0f);  // added
}

extern "C" __global__ void reader(const int* actions, float* y, const float* x) {
  if (!is_active()) return;
  y[agent_index()] = (float)(actions[agent_index()] > 0);  // reader
}

extern "C" __global__ void not_a_reader(float* y, const int* actions) {
  if (!is_active()) return;
  y[agent_index()] = agent_id() == 2 ? 0.0f : (float)(actions[agent_index()] > 0);
}

extern "C" __global__ void steered(float* y, const float* actions) {
  if (!is_active()) return;
  y[agent_index()] = fabsf(actions[2 * agent_index() + 1]) <= 2.0f ? 1.0f : 0.0f;  // steered
}
