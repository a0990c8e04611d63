// Pig: each env has an object of the class in template_world.hpp, and the kernels call it.
//
// Arrays: observations (envs, 1, 2), rewards (envs, 1) and terminated (envs,), which the player writes. Read: residents
// (envs,) addresses of the objects; actions (envs, 1, 1): 0 end the turn, 1 roll.
#include <resident.hpp>

#include "template_world.hpp"

RESIDENT(Pig);

// Writes what the player sees: points of the turn in hundreds, and the share of turns that have ended.
__device__ void observe(const Pig& game, float* observations, int num_turns) {
  float* seen = observations + (size_t)agent_index() * OBSERVATION_SIZE;
  seen[0] = fminf((float)game.points() / 100.0f, 1.0f);
  seen[1] = (float)game.turns / (float)num_turns;
}

extern "C" __global__ void step(const uint64_t* residents, const int* actions, float* observations, float* rewards,
                                bool* terminated, int num_turns) {
  if (!is_active()) return;  // guard
  Pig& game = resident(residents);
  rewards[agent_index()] = (float)game.play(actions[agent_index()] == 1) / 10.0f;
  terminated[env_id()] = game.turns >= num_turns;
  observe(game, observations, num_turns);
}

extern "C" __global__ void reset(const uint64_t* residents, float* observations, int num_turns) {
  if (!is_active()) return;  // guard
  Pig& game = resident(residents);
  game.begin(Random::env().bits());  // of the env's own numbers, which follow from the run's seed
  observe(game, observations, num_turns);
}
