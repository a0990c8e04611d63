// Kernels that lack a barrier where more than one pair of lines races for want of it.
#include <warpworld.cuh>

__device__ void place(float* row, int* marks, float value) {
  row[agent_id()] = value;         // row placed
  marks[agent_id()] = agent_id();  // marks placed
}

__device__ float seen(const float* row, const int* marks) {
  const int other = (agent_id() + 1) % NUM_AGENTS;
  const float value = row[other];        // row seen
  return value + (float)marks[other];  // marks seen
}

extern "C" __global__ void in_functions(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  ENV_SHARED(int, marks, NUM_AGENTS);
  place(row, marks, x[agent_index()]);    // in_functions behind
  y[agent_index()] = seen(row, marks);  // in_functions before
}

// What agent 0 counts stays the same, which alone would be a note.
extern "C" __global__ void with_a_note(float* x, float* y, int* hits) {
  if (!is_active()) return;
  const int first = env_id() * NUM_AGENTS;
  if (agent_id() == 0) hits[env_id()] = 0;  // with_a_note note
  x[agent_index()] += 1.0f;                 // with_a_note
  y[agent_index()] = x[first + (agent_id() + 1) % NUM_AGENTS] + (float)hits[env_id()];  // with_a_note before
}

extern "C" __global__ void two_missing(float* x, float* y, int* hits, float2* points) {
  if (!is_active()) return;
  const int other = env_id() * NUM_AGENTS + (agent_id() + 1) % NUM_AGENTS;
  x[agent_index()] += 1.0f;                       // two_missing x written
  if (agent_id() == 0) hits[env_id()] += 1;       // two_missing hits written
  const float sum = x[other] + (float)hits[env_id()];  // two_missing both read
  y[agent_index()] = sum;                         // two_missing y written
  points[agent_index()].x = sum;                  // two_missing points written
  points[agent_index()].y = y[other] + points[other].x;  // two_missing all read
}

extern "C" __global__ void around_a_loop(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  ENV_SHARED(int, marks, NUM_AGENTS);
  float sum = 0.0f;
  for (int round = 0; round < 3; ++round) {
    row[agent_id()] = x[agent_index()] + sum;  // around_a_loop row
    marks[agent_id()] = round;                 // around_a_loop marks
    sync_env();                                // rows and marks are written before they are read
    const int other = (agent_id() + 1) % NUM_AGENTS;
    sum += row[other];           // around_a_loop row read
    sum += (float)marks[other];  // around_a_loop before
  }
  y[agent_index()] = sum;
}

// The function that races with itself is called once.
__device__ float placed_and_seen(float* row, int* marks, float value) {
  const int other = (agent_id() + 1) % NUM_AGENTS;
  row[agent_id()] = value;         // within_a_function row
  marks[agent_id()] = agent_id();  // within_a_function behind
  const float near = row[other];   // within_a_function before
  return near + (float)marks[other];
}

extern "C" __global__ void within_a_function(const float* x, float* y) {
  if (!is_active()) return;
  ENV_SHARED(float, row, NUM_AGENTS);
  ENV_SHARED(int, marks, NUM_AGENTS);
  y[agent_index()] = placed_and_seen(row, marks, x[agent_index()]);
}

// No barrier mends this: two agents that read before either writes both count from the same number.
extern "C" __global__ void competing(int* hits, int* owner) {
  if (!is_active()) return;
  const int count = hits[env_id()];   // competing hits read
  const int last = owner[env_id()];   // competing owner read
  hits[env_id()] = count + 1;         // competing hits
  owner[env_id()] = last + agent_id();  // competing owner
}
