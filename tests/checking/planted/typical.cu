// Correct kernels, as environments have them.
#include <warpworld.cuh>

struct Body { float2 position; float2 speed; };

__device__ float distance2(const float* a, const float* b) {
  const float dx = a[0] - b[0], dy = a[1] - b[1];
  return dx * dx + dy * dy;
}

// A tree of sums in shared memory.
extern "C" __global__ void tree(const float* x, float* sum) {
  if (!is_active()) return;
  ENV_SHARED(float, part, NUM_AGENTS);
  part[agent_id()] = x[agent_index()];
  sync_env();  // parts are written
  for (int half = NUM_AGENTS / 2; half > 0; half /= 2) {
    if (agent_id() < half) part[agent_id()] += part[agent_id() + half];
    sync_env();  // this level is added up
  }
  if (agent_id() == 0) sum[env_id()] = part[0];
}

// Sums by warp shuffles.
extern "C" __global__ void shuffles(const float* x, float* y) {
  float value = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xFu, value, offset);
  value = __shfl_sync(0xFu, value, 0);
  y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// A counter that is cleared, counted up and read.
extern "C" __global__ void counters(int* hits, const int* actions, float* y) {
  if (!is_active()) return;
  if (agent_id() == 0) hits[env_id()] = 0;
  sync_env();
  if (actions[agent_index()] == 1) atomicAdd(&hits[env_id()], 1);
  sync_env();
  y[agent_index()] = (float)hits[env_id()];
}

// More threads than agents, in strides over an env's cells.
extern "C" __global__ void cells(float* grid, const float* x) {
  if (!is_active()) return;
  float* own = grid + env_id() * 10;
  for (int c = lane(); c < 10; c += num_lanes()) own[c] = x[env_id() * NUM_AGENTS + c % NUM_AGENTS] * 0.5f;
  sync_env();
  for (int c = lane(); c < 9; c += num_lanes())
    if (c % 2 == 0) own[c] = 0.5f * (own[c] + own[c + 1]);
}

// Structs in shared memory.
extern "C" __global__ void structs(const float* points, float* y) {
  if (!is_active()) return;
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  const float2 at = ((const float2*)points)[agent_index()];
  Body own = {at, make_float2(0.0f, 1.0f)};
  bodies[agent_id()] = own;
  sync_env();
  float nearest = 1e30f;
  for (int other = 0; other < NUM_AGENTS; ++other) {
    if (other == agent_id()) continue;
    const Body seen = bodies[other];
    nearest = fminf(nearest, distance2(&seen.position.x, &at.x));
  }
  y[agent_index()] = nearest;
}

// An agent that leaves early: the others meet without it.
extern "C" __global__ void leave_early(float* x, float* y, const bool* flags) {
  if (!is_active()) return;
  if (agent_id() == 3) { y[agent_index()] = 0.0f; return; }
  x[agent_index()] += 0.25f;
  sync_env();
  float total = 0.0f;
  for (int other = 0; other < 3; ++other) total += x[env_id() * NUM_AGENTS + other];
  y[agent_index()] = total;
}

// Who bids most gets it, whoever comes first.
extern "C" __global__ void auction(int* owner, const int* actions, float* y) {
  if (!is_active()) return;
  if (agent_id() == 0) owner[env_id()] = -1;
  sync_env();
  atomicMax(&owner[env_id()], actions[agent_index()] * NUM_AGENTS + agent_id());
  sync_env();
  y[agent_index()] = owner[env_id()] % NUM_AGENTS == agent_id() ? 1.0f : 0.0f;
}

// One number of all envs, by atomics.
extern "C" __global__ void world_total(int* total) {
  if (!is_active()) return;
  if (agent_id() == 0) atomicAdd(total, 1);
}

// Flags that all read before they are written again.
extern "C" __global__ void flags_of_others(bool* flags, float* y, const int* timestep) {
  if (!is_active()) return;
  flags[agent_index()] = (timestep[env_id()] + agent_id()) % 3 == 0;
  sync_env();
  int count = 0;
  for (int other = 0; other < NUM_AGENTS; ++other) count += flags[env_id() * NUM_AGENTS + other];
  sync_env();
  flags[agent_index()] = count > 1;
  y[agent_index()] = (float)count;
}

// Local arrays, a sort, bits.
extern "C" __global__ void sorts(const float* x, float* y, const int* timestep) {
  if (!is_active()) return;
  float seen[NUM_AGENTS]; int order[NUM_AGENTS];
  for (int i = 0; i < NUM_AGENTS; ++i) { seen[i] = x[env_id() * NUM_AGENTS + i] * (float)((i * 7 + timestep[env_id()]) % 5); order[i] = i; }
  for (int i = 1; i < NUM_AGENTS; ++i)
    for (int k = i; k > 0 && seen[order[k - 1]] > seen[order[k]]; --k) { const int swap = order[k]; order[k] = order[k - 1]; order[k - 1] = swap; }
  unsigned mask = 0;
  for (int i = 0; i < NUM_AGENTS; ++i) mask |= 1u << order[i];
  const unsigned hash = (mask ^ 0xFFFFFFFFu) * 2654435761u;
  y[agent_index()] = (float)__popc(mask) + (float)__clz((int)mask) + (float)__ffs((int)mask) + (float)(hash >> 28) + __uint_as_float(__float_as_uint(seen[0]));
}

// A neighbour env's array, which nobody writes in this launch; declared with own_env_only=false.
extern "C" __global__ void migrate(const float* x, float* y, int num_envs) {
  if (!is_active()) return;
  y[agent_index()] = x[((env_id() + 1) % num_envs) * NUM_AGENTS + agent_id()];
}

// Numbers drawn until they fit.
extern "C" __global__ void draws(float* x, float* y) {
  if (!is_active()) return;
  Random random = Random::agent(), common = Random::env();
  int tries = 0;
  do { x[agent_index()] = random.uniform(-1.0f, 1.0f); } while (x[agent_index()] < -0.5f && ++tries < 20);
  y[agent_index()] = common.below(3) == 1u ? random.normal() : 0.0f;
}

// A row in one load.
extern "C" __global__ void vector4(const float* rows, float* y) {
  if (!is_active()) return;
  const float4 row = reinterpret_cast<const float4*>(rows)[agent_index()];
  y[agent_index()] = row.x + row.y + row.z + row.w;
}
// Three floats.
extern "C" __global__ void threes(float3* triples, float* y) {
  if (!is_active()) return;
  float3& own = triples[agent_index()];
  own.x += 0.5f; own = make_float3(own.z, own.x, own.y);
  y[agent_index()] = own.x;
}
