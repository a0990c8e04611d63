// Faults as environments have them. A line that a finding names ends in its kernel's name, perhaps with a number.
#include <warpworld.cuh>

struct Body {
  float2 position, speed;
};

// No barrier between the levels of a tree.
extern "C" __global__ void tree(const float* x, float* sum) {
  if (!is_active()) return;
  ENV_SHARED(float, part, NUM_AGENTS);
  part[agent_id()] = x[agent_index()];
  sync_env();  // parts are written
  for (int half = NUM_AGENTS / 2; half > 0; half /= 2)
    if (agent_id() < half) part[agent_id()] += part[agent_id() + half];  // tree
  if (agent_id() == 0) sum[env_id()] = part[0];
}

// A counter that some count up before it is cleared.
extern "C" __global__ void counter(int* hits, const int* actions, float* y) {
  if (!is_active()) return;
  if (agent_id() == 0) hits[env_id()] = 0;
  if (actions[agent_index()] == 1) atomicAdd(&hits[env_id()], 1);  // counter
  sync_env();
  y[agent_index()] = (float)hits[env_id()];
}

// A row that is one longer than the array's.
extern "C" __global__ void row_end(float* grid) {
  if (!is_active()) return;
  for (int c = lane(); c <= 10; c += num_lanes()) grid[env_id() * 10 + c] = 1.0f;  // row_end
}

// Half a struct.
extern "C" __global__ void partly(float* y) {
  if (!is_active()) return;
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  bodies[agent_id()].position = make_float2(1.0f, 2.0f);
  sync_env();
  y[agent_index()] = bodies[agent_id()].speed.x;  // partly
}

// A variable that keeps its value from agent to agent.
extern "C" __global__ void remembers(float* y) {
  if (!is_active()) return;
  static int calls = 0;
  y[agent_index()] = (float)calls++;  // remembers
}

// Four bytes for three.
extern "C" __global__ void wide(uint8_t* bytes) {
  if (!is_active()) return;
  *(uint32_t*)(bytes + 3 * agent_index()) = 0;  // wide
}

extern "C" __global__ void clear(float* rows) {
  if (!is_active()) return;
  memset(rows + 4 * agent_index(), 0, 5 * sizeof(float));  // clear
}

// A load of four that begins where one begins.
extern "C" __global__ void window(const float* rows, float* y) {
  if (!is_active()) return;
  const float* own = rows + 4 * env_id() * NUM_AGENTS + agent_id();
  y[agent_index()] = reinterpret_cast<const float4*>(own)->w;  // window
}

// A flag tells that a number is there, and nothing makes the number be seen.
extern "C" __global__ void flag(int* hits, float* x, float* y) {
  if (!is_active()) return;
  if (agent_id() == 0) {
    x[agent_index()] = 2.0f;
    atomicExch(&hits[env_id()], 1);
  }
  if (agent_id() == 1 && atomicAdd(&hits[env_id()], 0) == 1) y[agent_index()] = x[env_id() * NUM_AGENTS];  // flag
}

// A neighbour env's number, while that env may write it.
extern "C" __global__ void migrate(float* x, int num_envs) {
  if (!is_active()) return;
  x[agent_index()] = x[(env_id() + 1) % num_envs * NUM_AGENTS + agent_id()] + 1.0f;  // migrate
}
