// Kernels of more agents than a block has threads, which take turns. A line that a finding names ends in its kernel's
// name; the other place of a race ends in the name and "before".
#include <unistd.h>
#include <warpworld.cuh>

extern "C" __global__ void correct(float* x, float* y, int* hits) {
  if (!is_active()) return;
  x[agent_index()] = Random::agent().uniform();
  y[agent_index()] = x[agent_index()] + (float)num_lanes();
  atomicAdd(&hits[env_id()], 1);
}

extern "C" __global__ void two_writers(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 3 || agent_id() == 1500) hits[env_id()] = agent_id();  // two_writers
}

extern "C" __global__ void far_neighbour(float* x, float* y) {
  if (!is_active()) return;
  if (agent_id() == 1500) y[agent_index()] = x[env_id() * NUM_AGENTS + 3];  // far_neighbour before
  if (agent_id() == 3) x[agent_index()] += 1.0f;                            // far_neighbour
}

extern "C" __global__ void two_arrays(float* x, float* y, float* sum) {
  if (!is_active()) return;
  const int third = env_id() * NUM_AGENTS + 3;
  if (agent_id() == 1500) sum[env_id()] = x[third] + y[third];  // two_arrays before
  if (agent_id() == 3) {
    x[third] += 1.0f;  // two_arrays
    y[third] += 1.0f;  // two_arrays behind
  }
}

extern "C" __global__ void one_thread(int* hits) {
  if (!is_active()) return;
  if (agent_id() % 1024 == 5) hits[env_id()] += 1;  // one_thread
}

extern "C" __global__ void mixed_atomic(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 2) hits[env_id()] = 100;          // mixed_atomic before
  if (agent_id() == 1999) atomicAdd(&hits[env_id()], 1);  // mixed_atomic
}

extern "C" __global__ void one_agent_beyond(float* x, int num_envs) {
  if (!is_active()) return;
  x[agent_id() == 1030 ? num_envs * NUM_AGENTS + 7 : agent_index()] = 1.0f;  // one_agent_beyond
}

extern "C" __global__ void next_env(float* x) {
  if (!is_active()) return;
  const float seen = x[agent_index() + (agent_id() == 1999 && env_id() == 0)];  // next_env
  x[agent_index()] = seen;
}

extern "C" __global__ void half(float* empty, float* y) {
  if (!is_active()) return;
  if (agent_id() != 1300) empty[agent_index()] = 1.0f;
  y[agent_index()] = empty[agent_index()];  // half
}

extern "C" __global__ void overflow(int* owner, const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 1998) owner[env_id()] = 2147483647 + timestep[env_id()];  // overflow
}

extern "C" __global__ void drawn_again(float* x) {
  if (!is_active()) return;
  Random first = Random::agent();
  for (int i = 0; i < 40; ++i) x[agent_index()] = first.uniform();  // drawn_again before
  Random second = Random::agent();
  if (agent_id() == 1999) x[agent_index()] = second.uniform();  // drawn_again
}

extern "C" __global__ void first_come(int* owner) {
  if (!is_active()) return;
  if (agent_id() == 100 || agent_id() == 1100) atomicCAS(&owner[env_id()], -1, agent_id());
}

extern "C" __global__ void assertion(float* y) {
  if (!is_active()) return;
  assert(agent_id() != 1700);  // assertion
  y[agent_index()] = 1.0f;
}

extern "C" __global__ void slow(const int* timestep) {
  if (agent_id() == 0 && timestep[env_id()] == 1) usleep(200000);
}

extern "C" __global__ void guarded_reset(float* observations) {
  if (!is_active()) return;
  observations[agent_index()] = 0.5f;
}

extern "C" __global__ void open_reset(float* observations) {
  observations[agent_index()] = 0.5f;  // open_reset
}
