// The kernel of the block RandomSpawns: a random plan for the env, and in it a random place for each agent.
#pragma once

#include <indoor.cuh>

constexpr int PLACES_TRIED = 64;                          // for a place that touches no other agent
constexpr float PLACES_APART = 2.0f * AGENT_RADIUS + 0.01f;  // metres between two agents, at least

// Whether a place is far enough away from each of the `others` first agents of the env.
WW_FUNCTION bool is_free(float2 place, const float2* positions, int others) {
  using namespace plane;
  for (int other = 0; other < others; ++other)
    if (length(place - positions[env_id() * NUM_AGENTS + other]) < PLACES_APART) return false;
  return true;
}

WW_FUNCTION float2 free_place(const Rooms& rooms, const float2* positions, int others, Random& random) {
  float2 place = place_anywhere(rooms, random);
  for (int i = 1; i < PLACES_TRIED && !is_free(place, positions, others); ++i) place = place_anywhere(rooms, random);
  return place;
}

// Reads the plans' rooms; writes plan and the motions.
extern "C" __global__ void spawn_anywhere(Motions motions, int* plan, Plans plans, int num_plans) {
  if (!is_active()) return;
  const int chosen = (int)Random::env().below((uint32_t)num_plans);  // the same for all agents of the env
  if (agent_id() == 0) plan[env_id()] = chosen;
  const Rooms rooms = rooms_of(plans, chosen);
  Random random = Random::agent();
  for (int turn = 0; turn < NUM_AGENTS; ++turn) {
    if (agent_id() == turn) {
      const float2 place = free_place(rooms, motions.positions, turn, random);
      const float2 rest = make_float2(0.0f, 0.0f);
      const Motion motion{place, rest, random.uniform(-180.0f, 180.0f), 0.0f, rest};
      motions.store(agent_index(), motion);
    }
    if (turn + 1 < NUM_AGENTS) sync_env();  // orders this agent's place before the next one keeps away from it
  }
}
