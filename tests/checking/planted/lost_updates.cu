// Plain updates of one element by agents that come to it in different steps: agent 3 in step 2, agent 2 in step 3, agent
// 1 in step 4 and agent 0 in step 7. Agents of one speed would come to it in one step.
#include <warpworld.cuh>

#include "turns_of_players.cuh"

#define ADD_ONE(x) x = x + 1

// Moves the agent; whether it has just arrived.
__device__ bool arrives(float* y, bool* flags) {
  const int i = agent_index();
  y[i] += (float)(agent_id() + 1);
  if (y[i] <= 6.0f || flags[i]) return false;
  flags[i] = true;
  return true;
}

extern "C" __global__ void counted(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags)) hits[env_id()] += 1;  // counted
}

extern "C" __global__ void by_a_variable(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (!arrives(y, flags)) return;
  const int before = hits[env_id()];
  const int after = before + 1;
  hits[env_id()] = after;  // by_a_variable
}

__device__ void count(int* counter) {
  ++*counter;  // by_a_function
}

extern "C" __global__ void by_a_function(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags)) count(&hits[env_id()]);
}

extern "C" __global__ void summed(float* y, bool* flags, float* sum) {
  if (!is_active()) return;
  if (arrives(y, flags)) sum[env_id()] -= y[agent_index()];  // summed
}

extern "C" __global__ void largest(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  const int mine = 10 - agent_id();
  if (arrives(y, flags)) hits[env_id()] = hits[env_id()] > mine ? hits[env_id()] : mine;  // largest
}

extern "C" __global__ void of_an_agent(float* y, bool* flags, float* x) {
  if (!is_active()) return;
  const int goal = env_id() * NUM_AGENTS + 1;
  if (arrives(y, flags)) x[goal] += 1.0f;  // of_an_agent
}

extern "C" __global__ void by_a_macro(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags)) ADD_ONE(hits[env_id()]);  // by_a_macro
}

extern "C" __global__ void over_lines(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags))
    hits[env_id()] =  // over_lines
        hits[env_id()]
        + 1;
}

extern "C" __global__ void by_a_reference(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  int& count = hits[env_id()];
  if (arrives(y, flags)) count = count + 2;  // by_a_reference
}

extern "C" __global__ void of_all_envs(float* y, bool* flags, int* total) {
  if (!is_active()) return;
  if (arrives(y, flags) && env_id() == agent_id() % 3) *total += 1;  // of_all_envs
}

extern "C" __global__ void half_of_them(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  const bool arrived = arrives(y, flags);
  if (agent_id() % 2 == 0 && arrived) hits[env_id()]++;  // half_of_them
}

extern "C" __global__ void others_than_the_first(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags) && agent_id() != 0) hits[env_id()] += 1;  // others_than_the_first
}

// ---- one agent alone, as the text says -------------------------------------------------------------------------------
extern "C" __global__ void right_atomic(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags)) atomicAdd(&hits[env_id()], 1);
}

extern "C" __global__ void right_turn(int* hits, const int* timestep) {
  if (!is_active()) return;
  const int mover = timestep[env_id()] % NUM_AGENTS;
  if (agent_id() == mover) hits[env_id()] += 1;
}

extern "C" __global__ void right_return(int* hits, const int* timestep) {
  if (!is_active()) return;
  const int me = agent_id();
  if (timestep[env_id()] % NUM_AGENTS != me) return;
  hits[env_id()] += 1;
}

__device__ bool is_my_turn(const int* timestep) { return (agent_id() + timestep[env_id()]) % NUM_AGENTS == 0; }

extern "C" __global__ void right_question(int* hits, const int* timestep) {
  if (!is_active()) return;
  const bool moves = is_my_turn(timestep);
  if (moves) count(&hits[env_id()]);
}

__device__ void move(int* hits, int player, int mover) {
  if (player != mover) return;
  count(&hits[env_id()]);
}

extern "C" __global__ void right_parameter(int* hits, const int* timestep) {
  if (!is_active()) return;
  move(hits, agent_id(), timestep[env_id()] % NUM_AGENTS);
}

extern "C" __global__ void right_in_another_file(int* hits, const int* timestep) {
  if (!is_active()) return;
  raise_in_turn(Score{hits}, agent_id(), timestep[env_id()] % NUM_AGENTS);
}

extern "C" __global__ void right_order(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  ENV_SHARED(int, wants, NUM_AGENTS);
  wants[agent_id()] = arrives(y, flags);
  sync_env();
  bool is_first = wants[agent_id()];
  for (int other = 0; other < agent_id(); ++other)
    if (wants[other]) is_first = false;
  if (is_first) hits[env_id()] += 1;
}

extern "C" __global__ void right_winner(float* y, bool* flags, int* hits, int* owner) {
  if (!is_active()) return;
  if (!arrives(y, flags)) return;
  const int won = atomicExch(&owner[env_id()], 1);
  if (won == -1 || won == 0) hits[env_id()] += 1;
}

extern "C" __global__ void right_rounds(int* hits) {
  if (!is_active()) return;
  for (int k = 0; k < NUM_AGENTS; ++k) {
    if (k == agent_id()) hits[env_id()] += 1;
    sync_env();
  }
}

extern "C" __global__ void right_write(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags) && hits[env_id()] < 100) hits[env_id()] = 1 + agent_id();
}

extern "C" __global__ void right_flag(float* y, bool* flags, int* hits) {
  if (!is_active()) return;
  if (arrives(y, flags) && !hits[env_id()]) hits[env_id()] = 1;
}

// ---- one agent alone, as only data say -------------------------------------------------------------------------------
extern "C" __global__ void passed_on(int* hits, bool* flags, const int* timestep) {
  if (!is_active()) return;
  const int next = env_id() * NUM_AGENTS + (agent_id() + 1) % NUM_AGENTS;
  if (timestep[env_id()] == 1) flags[agent_index()] = agent_id() == 0;
  const bool has_it = flags[agent_index()];
  sync_env();
  if (!has_it) return;
  hits[env_id()] += 1;  // passed_on
  flags[agent_index()] = false;
  flags[next] = true;
}

extern "C" __global__ void never_at_one_place(float* x, const int* timestep) {
  if (!is_active()) return;
  const int cell = (agent_id() + timestep[env_id()]) % NUM_AGENTS;
  x[env_id() * NUM_AGENTS + cell] += 1.0f;  // never_at_one_place
}
