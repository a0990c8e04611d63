// Faults at the edges of what a check knows: atomics, parts of vectors, warps, orders.
#include <warpworld.cuh>

extern "C" __global__ void atomic_first(float* y) {
  if (!is_active()) return;
  ENV_SHARED(int, count, 1);
  atomicAdd(&count[0], 1);  // atomic_first
  sync_env();               // all have counted
  y[agent_index()] = (float)count[0];
}

extern "C" __global__ void atomic_on_empty(float* empty) {
  if (!is_active()) return;
  atomicAdd(&empty[agent_index()], 1.0f);  // atomic_on_empty
}

extern "C" __global__ void atomic_on_stale(float* kept) {
  if (!is_active()) return;
  atomicAdd(&kept[agent_index()], 1.0f);  // atomic_on_stale
}

extern "C" __global__ void never_written(const float* bare, float* y) {
  if (!is_active()) return;
  y[agent_index()] = bare[agent_index()];  // never_written
}

extern "C" __global__ void leave(float* y, float* observations) {
  if (!is_active()) return;
  y[agent_index()] = observations[agent_index()] = 0.0f;
}

// A write of a whole vector meets each component's writer.
extern "C" __global__ void whole_vector(float2* points) {
  if (!is_active()) return;
  const int first = env_id() * NUM_AGENTS;
  if (agent_id() == 0) points[first].x = 1.0f;                       // x before whole_vector
  if (agent_id() == 1) points[first].y = 2.0f;                       // y before whole_vector
  if (agent_id() == 2) points[first] = make_float2(3.0f, 4.0f);  // whole_vector
}

// What one line reads was written at either of two.
extern "C" __global__ void two_lines(float* x, float* y) {
  if (!is_active()) return;
  if (agent_id() % 2)
    x[agent_index()] += 1.0f;  // two_lines odd
  else
    x[agent_index()] += 2.0f;  // two_lines even
  if (agent_id() > 0) y[agent_index()] = x[agent_index() - 1];  // two_lines read
}

// Lanes 0 and 32 meet in their warps, and not each other.
extern "C" __global__ void across_warps(int* hits) {
  __shared__ int cell;
  if (threadIdx.x == 0) cell = (int)blockIdx.x + 1;  // across_warps before
  __syncwarp();
  if (threadIdx.x == 32) hits[blockIdx.x] = cell;  // across_warps
}

// Who comes first counts, from either end: the same forward and backward.
extern "C" __global__ void first_pair(int* owner, int* hits, const int* timestep) {
  if (!is_active()) return;
  const int now = timestep[env_id()];
  if (atomicMax(&owner[env_id()], now) < now) hits[env_id()] = min(agent_id(), NUM_AGENTS - 1 - agent_id());
}

// Which agent is last shows in the second digit: more than sums in another order differ by.
extern "C" __global__ void last_of_all(float* sum) {
  if (is_active()) atomicExch(&sum[env_id()], 1.0f + 0.01f * (float)agent_id());
}

// No number, whoever is last: its bits say who.
extern "C" __global__ void last_of_no_number(float* sum) {
  if (is_active()) atomicExch(&sum[env_id()], __int_as_float(0x7FC00000 + agent_id()));
}

extern "C" __global__ void just_behind(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  float* beyond = row;
  if (agent_id() == 0) beyond[200] = x[agent_index()];  // just_behind
  y[agent_index()] = 1.0f;
}

// Another env's part, which this kernel may touch: nobody writes it in this launch.
extern "C" __global__ void over_the_fence(const float* side, float* y, int num_envs) {
  if (!is_active()) return;
  y[agent_index()] = side[(env_id() + 1) % num_envs * NUM_AGENTS + agent_id()];
}

extern "C" __global__ void behind_the_fence(const float* side, float* y, int num_envs) {
  if (!is_active()) return;
  y[agent_index()] = side[(env_id() + num_envs) * NUM_AGENTS + agent_id()];  // behind_the_fence
}

extern "C" __global__ void below_bounds(float* side) {
  if (!is_active()) return;
  if (agent_id() == 3) side[agent_index()] -= 0.25f;  // below_bounds
}

extern "C" __global__ void at_bounds(float* side, float* observations) {
  if (!is_active()) return;
  side[agent_index()] = agent_id() % 2 ? 1.0f : 0.0f;
  observations[agent_index()] = agent_id() % 2 ? 0.0f : 1.0f;
}

extern "C" __global__ void below_space(float* observations) {
  if (!is_active()) return;
  observations[agent_index()] = agent_id() == 2 ? -0.25f : 0.0f;  // below_space
}

// Each draws three numbers, of which the first of the second generator is where both begin alike.
extern "C" __global__ void three_of_each(float* y) {
  if (!is_active()) return;
  Random one = Random::agent(), other = Random::agent();
  float sum = one.uniform();  // three_of_each before
  sum += one.uniform();
  sum += one.uniform();
  sum += other.uniform();  // three_of_each
  sum += other.uniform();
  sum += other.uniform();
  y[agent_index()] = sum;
}

__device__ float at(int index) {
  const float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  return values[index];  // outside
}

extern "C" __global__ void near_above(float* y) {
  if (is_active()) y[agent_index()] = at(67) < 0.0f ? 1.0f : 2.0f;
}

extern "C" __global__ void far_above(float* y) {
  if (is_active()) y[agent_index()] = at(68) < 0.0f ? 1.0f : 2.0f;
}

extern "C" __global__ void near_below(float* y) {
  if (is_active()) y[agent_index()] = at(-64) < 0.0f ? 1.0f : 2.0f;
}

extern "C" __global__ void far_below(float* y) {
  if (is_active()) y[agent_index()] = at(-65) < 0.0f ? 1.0f : 2.0f;
}
