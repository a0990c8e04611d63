// Who has whom in sight among line walls, whichever way agents look.
#pragma once

#include "geometry.cuh"

// Which of the env's agents have which in sight, whichever way they look: no wall is on the line between their middles.
// in_sight: (agents, agents) of the env. Its lanes share the pairs; all of them call it together.
WW_FUNCTION void find_in_sight(const Walls& walls, const float2* positions, bool* in_sight) {
  constexpr int pairs = NUM_AGENTS * (NUM_AGENTS - 1) / 2;
  in_sight[agent_id() * NUM_AGENTS + agent_id()] = false;
#pragma unroll 1  // as a GPU has few registers
  for (int pair = lane(); pair < pairs; pair += num_lanes()) {
    int high = 1, low = pair;  // pairs follow each other by their higher agent
    while (low >= high) low -= high++;
    const bool sees = !plane::is_blocked(walls, plane::Segment{positions[low], positions[high]});
    in_sight[low * NUM_AGENTS + high] = in_sight[high * NUM_AGENTS + low] = sees;
  }
  sync_env();  // orders all pairs before any agent reads its own
}
