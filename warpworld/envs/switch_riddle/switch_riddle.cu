// Switch riddle: each day one prisoner, drawn with equal odds, is in a room with a light. It may switch the light, or say
// that all have been there, which ends the episode: 1 for all if they have, -1 if not.
//
// Arrays: room (envs,) who is in the room; light (envs,); been (envs, agents); observations (envs, agents, 2) flags:
// whether the agent is in the room, and there whether the light is on. Each agent writes its part; agent 0 writes what is
// of the env. Read: actions (envs, agents, 1): 0 nothing, 1 switch, 2 say so, which count of the agent in the room;
// timestep (envs,).
#include <warpworld.cuh>

constexpr int SWITCH = 1, SAY = 2, DAYS = 4 * NUM_AGENTS - 6;

struct Prison {
  int* room;
  bool *light, *been, *observations;
};

// Draws who is in the room; all agents draw the same.
__device__ int next_in_room() {
  Random random = Random::env();
  return (int)random.below((uint32_t)NUM_AGENTS);
}

__device__ void show(const Prison& prison, int room, bool light) {
  bool* seen = prison.observations + 2 * (size_t)agent_index();
  seen[0] = agent_id() == room;
  seen[1] = agent_id() == room && light;
}

extern "C" __global__ void step(Prison prison, const int* actions, const int* timestep, float* rewards,
                                bool* terminated) {
  if (!is_active()) return;  // guard
  const int env = env_id(), first = env * NUM_AGENTS, room = prison.room[env], action = actions[first + room];
  const bool light = prison.light[env] != (action == SWITCH);
  if (agent_id() == room) prison.been[agent_index()] = true;
  sync_env();  // it has been there before all look, and all know room and light before agent 0 changes them

  bool have_all = true;
  for (int other = 0; other < NUM_AGENTS; ++other) have_all &= prison.been[first + other];
  rewards[agent_index()] = action != SAY ? 0.0f : have_all ? 1.0f : -1.0f;
  const int next = next_in_room();
  show(prison, next, light);
  if (agent_id() != 0) return;
  prison.room[env] = next;
  prison.light[env] = light;
  terminated[env] = action == SAY || timestep[env] >= DAYS;
}

extern "C" __global__ void reset(Prison prison) {
  if (!is_active()) return;  // guard
  const int room = next_in_room();
  prison.been[agent_index()] = false;
  show(prison, room, false);
  if (agent_id() != 0) return;
  prison.room[env_id()] = room;
  prison.light[env_id()] = false;
}
