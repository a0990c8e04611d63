// What is undefined in C++, each in a kernel of its own. The line that a finding names ends in its kernel's name.
#include <warpworld.cuh>

__device__ int table[3] = {1, 2, 3};

struct Path {
  float steps[4];
  int length;
};

extern "C" __global__ void shift(int* hits, const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 1) hits[env_id()] = 1 << (30 + timestep[env_id()]);  // shift
}

extern "C" __global__ void shift_by_less_than_nothing(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 0) hits[env_id()] = 4u >> (agent_id() - 1);  // shift_by_less_than_nothing
}

extern "C" __global__ void sum(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 2) hits[env_id()] = agent_id() + 2147483647;  // sum
}

extern "C" __global__ void difference(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 2) hits[env_id()] = -2147483647 - agent_id();  // difference
}

extern "C" __global__ void product(int* hits, const int* timestep) {
  if (!is_active()) return;
  int seed = timestep[env_id()] + agent_id();
  if (agent_id() == 0) hits[env_id()] = seed * 1103515245;  // product
}

extern "C" __global__ void negative(int* hits, int* owner) {
  if (!is_active()) return;
  const int least = (int)0x80000000u;
  if (agent_id() == 0) hits[env_id()] = -(least + (hits[env_id()] & 0));  // negative
}

extern "C" __global__ void quotient(int* hits, const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 1) hits[env_id()] = 10 / (timestep[env_id()] - 3);  // quotient
}

extern "C" __global__ void remainder_of(int* hits, const int* timestep) {
  if (!is_active()) return;
  if (agent_id() == 1) hits[env_id()] = 10 % (timestep[env_id()] - 3);  // remainder_of
}

extern "C" __global__ void float_to_int(float* y, int* hits) {
  if (!is_active()) return;
  const float far = (y[agent_index()] + 1.0f) * 1e20f;
  if (agent_id() == 3) hits[env_id()] = (int)far;  // float_to_int
}

extern "C" __global__ void not_a_number_to_int(const float* y, int* hits) {
  if (!is_active()) return;
  const float none = y[agent_index()] / y[agent_index()];
  if (agent_id() == 3) hits[env_id()] = (int)none;  // not_a_number_to_int
}

extern "C" __global__ void less_than_nothing(const float* x, int* hits) {
  if (!is_active()) return;
  if (agent_id() == 1) hits[env_id()] = (unsigned)(x[agent_index()] - 3.0f) & 1;  // less_than_nothing
}

extern "C" __global__ void local_array(float* y, const int* timestep) {
  if (!is_active()) return;
  float seen[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const int last = timestep[env_id()] == 1 ? 5 : 3;
  if (agent_id() == 2) y[agent_index()] = seen[last];  // local_array
}

extern "C" __global__ void written_local_array(float* y) {
  if (!is_active()) return;
  float seen[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (agent_id() == 2) seen[agent_id() - 4] = 0.0f;  // written_local_array
  y[agent_index()] = seen[0];
}

extern "C" __global__ void far_from_a_local_array(float* y) {
  if (!is_active()) return;
  float seen[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (agent_id() == 2) seen[agent_id() + 100000000] = 1.0f;  // far_from_a_local_array
  y[agent_index()] = seen[0];
}

extern "C" __global__ void member_array(float* y) {
  if (!is_active()) return;
  Path path = {{0.0f, 0.0f, 0.0f, 0.0f}, 4};
  path.steps[path.length - agent_id()] = 0.0f;  // member_array
  y[agent_index()] = path.steps[0];
}

extern "C" __global__ void constant_table(int* hits) {
  if (!is_active()) return;
  if (agent_id() == 3) hits[env_id()] = table[agent_id()] == 0x12345678;  // constant_table
}

extern "C" __global__ void rows(float* y) {
  if (!is_active()) return;
  __shared__ float grid[2][NUM_AGENTS];
  grid[0][agent_id()] = grid[1][agent_id()] = 0.0f;
  sync_env();
  y[agent_index()] = grid[0][agent_id() == 0 ? NUM_AGENTS : agent_id()];  // rows
}

extern "C" __global__ void vector(const float* x, float* y) {
  if (!is_active()) return;
  const float* from = x + env_id() * NUM_AGENTS;
  if (agent_id() == 1) y[agent_index()] = 0.0f * ((const float2*)(from + 1))[0].x;  // vector
}

extern "C" __global__ void null(float* y) {
  if (!is_active()) return;
  const float* found = nullptr;
  if (agent_id() != 2) found = y + agent_index();
  y[agent_index()] = *found;  // null
}

__device__ float half(int agent) { if (agent < 3) return 0.5f; }  // no_return

extern "C" __global__ void no_return(float* y) {
  if (!is_active()) return;
  y[agent_index()] = half(agent_id());
}

extern "C" __global__ void not_a_bool(int* hits, bool* flags) {
  if (!is_active()) return;
  *(unsigned char*)&flags[agent_index()] = 2;
  if (agent_id() == 1 && flags[agent_index()]) hits[env_id()] = 1;  // not_a_bool
}

// Everything that CUDA defines, or that nobody does: shifts of negative numbers, floats divided by 0, casts at the edge,
// unsigned numbers that wrap round, the addresses of one past the end and of null.
extern "C" __global__ void defined(float* x, float* y, int* hits) {
  if (!is_active()) return;
  unsigned mixed = 0x9E3779B9u * (unsigned)(agent_id() + 7);
  mixed = (mixed << 31) ^ (mixed >> 31) ^ (mixed - 0xFFFFFFFFu);
  const int sign = 1 << 31, below = -5 << 2, wide = (int)2147483520.0f, low = (int)-2147483648.0f;
  const float endless = 1.0f / (x[agent_index()] - x[agent_index()]);
  float seen[4] = {0.0f, 1.0f, 2.0f, 3.0f};
  float total = 0.0f;
  for (const float* each = seen; each != &seen[4]; ++each) total += *each;
  const int quotient = -7 / 2, remainder = -7 % 2, product = 46340 * 46340;
  const float2 pair = ((const float2*)(x + env_id() * NUM_AGENTS))[0];
  const float* nowhere = nullptr;
  if (nowhere == &nowhere[0]) total += pair.y;
  y[agent_index()] = fminf(endless, total);
  if (agent_id() == 0)
    hits[env_id()] = (int)(mixed & 1u) | sign | below | wide | low | quotient | remainder | product;
}
