// Players that do not learn: a kernel gets the agents that it plays in Played, and writes the outputs that their actions
// are drawn from: logits of all choices, or the means of numbers. See Environment.scripts.
//
// It has a thread for each agent of the env, as other kernels have, and begins with
//   if (!plays(played, agent_id())) return;
#pragma once

#include "warpworld.cuh"

constexpr float NEVER = -50.0f;  // the logit of what is not chosen, beside 0 of what is

struct Played {
  const int* script_players;  // (envs,) number of the script that plays the group in an env; -1 where none does
  float* script_outputs;      // (envs, script_agents, script_width)
  int script_number;          // of this script
  int script_first, script_stride, script_agents;  // the group's first agent in an env, the step to the next, and its size
  int script_width;           // outputs of an agent
};

// An agent's place among the group's; anything outside of 0 .. script_agents - 1 if it is not one of them.
WW_FUNCTION int member_of(const Played& played, int agent) {
  const int place = agent - played.script_first;
  return place % played.script_stride == 0 ? place / played.script_stride : -1;
}

// Whether the script plays an agent of this env.
WW_FUNCTION bool plays(const Played& played, int agent) {
  if (!is_active()) return false;
  const int member = member_of(played, agent);
  return member >= 0 && member < played.script_agents && played.script_players[env_id()] == played.script_number;
}

// Where an agent's outputs lie.
WW_FUNCTION float* outputs_of(const Played& played, int agent) {
  const size_t row = (size_t)env_id() * played.script_agents + member_of(played, agent);
  return played.script_outputs + row * played.script_width;
}

// Writes logits that are as good as a choice, and returns the place of the next head's.
WW_FUNCTION float* choose(float* logits, int choices, int chosen) {
  for (int i = 0; i < choices; ++i) logits[i] = i == chosen ? 0.0f : NEVER;
  return logits + choices;
}
