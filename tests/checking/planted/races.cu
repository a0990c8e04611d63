// Races between agents, each in a kernel of its own. A line that a finding names ends in its kernel's name; the other
// place of a race ends in the name and "before".
#include <warpworld.cuh>

__device__ int counter;

__device__ void add(int* total) { *total += 1; }  // helper

extern "C" __global__ void lost_update(int* hits) {
  if (!is_active()) return;
  hits[env_id()] += 1;  // lost_update
}

extern "C" __global__ void missing_barrier(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] += 1.0f;                                              // missing_barrier
  y[agent_index()] = x[env_id() * NUM_AGENTS + (agent_id() + 1) % NUM_AGENTS];  // missing_barrier before
}

extern "C" __global__ void mixed_atomic(int* hits) {
  if (!is_active()) return;
  atomicAdd(&hits[env_id()], 1);              // mixed_atomic
  if (agent_id() == 2) hits[env_id()] = 100;  // mixed_atomic before
}

extern "C" __global__ void read_of_atomic(int* hits, float* y) {
  if (!is_active()) return;
  atomicAdd(&hits[env_id()], 1);                // read_of_atomic
  y[agent_index()] = (float)hits[env_id()];  // read_of_atomic before
}

extern "C" __global__ void same_value(int* hits) {
  if (!is_active()) return;
  hits[env_id()] = 7;  // same_value
}

extern "C" __global__ void changed_once(int* hits, const int* timestep) {
  if (!is_active()) return;
  hits[env_id()] = timestep[env_id()] < 3 ? 7 : agent_id();  // changed_once
}

extern "C" __global__ void shared(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  row[agent_id()] = x[agent_index()];                      // shared before
  if (agent_id() > 0) y[agent_index()] = row[agent_id() - 1];  // shared
}

extern "C" __global__ void plain_shared(const float* x, float* y) {
  __shared__ float line[NUM_AGENTS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  line[threadIdx.x] = x[i];                             // plain_shared before
  if (threadIdx.x > 0) y[i] = line[threadIdx.x - 1];  // plain_shared
}

extern "C" __global__ void next_round(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  float sum = 0.0f;
  for (int round = 0; round < 3; ++round) {
    row[agent_id()] = x[agent_index()] + sum;  // next_round
    sync_env();                                // rows are written, but nobody waits until they have been read
    sum += row[(agent_id() + 1) % NUM_AGENTS];  // next_round before
  }
  y[agent_index()] = sum;
}

extern "C" __global__ void between_envs(int* total) {
  if (!is_active()) return;
  if (agent_id() == 0) total[0] += 1;  // between_envs
}

extern "C" __global__ void device_variable() {
  if (!is_active()) return;
  if (agent_id() == 0) counter += 1;  // device_variable
}

extern "C" __global__ void in_helper(int* hits) {
  if (!is_active()) return;
  add(&hits[env_id()]);
}

extern "C" __global__ void vectors(float2* points) {
  if (!is_active()) return;
  points[env_id() * NUM_AGENTS + agent_id() / 2] = make_float2((float)agent_id(), 1.0f);  // vectors
}

struct Pair {
  float first, second;
};

__device__ Pair pair_of(int agent) { return Pair{(float)agent, 1.0f}; }

extern "C" __global__ void returned(float* y) {
  if (!is_active()) return;
  ENV_SHARED(Pair, pairs, 2);
  Pair* mine = &pairs[agent_id() / 2];
  *mine = pair_of(agent_id());  // returned
  sync_env();
  y[agent_index()] = mine->first;
}

// Agents 0 and 1 read, then 1 writes: it collides with 0, though it was the last to read.
extern "C" __global__ void several_readers(float* y, int* hits) {
  if (!is_active()) return;
  if (agent_id() < 2) y[agent_index()] = (float)hits[env_id()];  // read by several
  if (agent_id() == 1) hits[env_id()] = 5 + hits[env_id()];    // several_readers
}

// A write that changes nothing, after one that did: whoever reads between them sees it or not.
extern "C" __global__ void covered(float* y, int* hits, const int* timestep) {
  if (!is_active()) return;
  if (agent_id() < 2) hits[env_id()] = timestep[env_id()];       // covered before
  if (agent_id() == 3) y[agent_index()] = (float)hits[env_id()];  // covered
}

// ---- correct kernels -----------------------------------------------------------------------------------------------
extern "C" __global__ void correct(float* x, float* y, int* hits, int* total, bool* flags) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  flags[agent_index()] = !flags[agent_index()];  // neighbours in one word, but not in one element
  x[agent_index()] += 1.0f;
  row[agent_id()] = x[agent_index()];
  atomicAdd(&hits[env_id()], 1);
  atomicAdd(total, 1);
  sync_env();  // rows and hits are written before they are read
  y[agent_index()] = row[NUM_AGENTS - 1 - agent_id()] + x[env_id() * NUM_AGENTS] + (float)hits[env_id()];
}
