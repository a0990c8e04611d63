"""An environment that the tests of worlds step, and what they look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from warpworld import Array, World

Toy = Callable[..., World]
NUM_ENVS = 6

# Two agents walk along a line by their action and by chance; agent 0 ends the episode at the goal.
WALK = """
__device__ void see(int x, float* observations) { observations[agent_index()] = (float)x; }

extern "C" __global__ void step(int* x, const int* actions, const int* timestep, const uint64_t* clock,
                                float* observations, float* rewards, bool* terminated, bool* truncated,
                                int* when, int goal, int episode_length) {
  if (!is_active()) return;  // guard
  const int i = agent_index(), e = env_id();
  ENV_SHARED(int, places, NUM_AGENTS);
  x[i] += actions[i] + (int)Random::agent().below(2u);
  places[agent_id()] = x[i];
  sync_env();  // orders the write of places before the reads below
  rewards[i] = (float)(places[0] - places[NUM_AGENTS - 1]);
  see(x[i], observations);
  if (agent_id() != 0) return;
  when[e * 2] = timestep[e];
  when[e * 2 + 1] = (int)clock[e];
  terminated[e] = x[i] >= goal;
  truncated[e] = timestep[e] >= episode_length;
}

extern "C" __global__ void reset(int* x, float* observations, int* resets) {
  if (!is_active()) return;  // guard
  x[agent_index()] = (int)Random::agent().below(3u);
  see(x[agent_index()], observations);
  if (agent_id() == 0) resets[env_id()]++;
}
"""
WALK_ARRAYS = [
    Array("x", "int32"),
    Array("when", "int32", (2,), per="env", initial=0),
    Array("resets", "int32", per="env", initial=0, on_reset="keep"),
]


def trajectory(
    world: World, num_steps: int, names: tuple[str, ...] = ("x", "observations", "rewards", "terminated")
) -> Any:
    """What a number of steps makes of some arrays: (num_steps, num_envs, ...) each."""
    rows = []
    for _ in range(num_steps):
        world.step()
        rows.append([world[name].clone() for name in names])
    return [torch.stack(column) for column in zip(*rows, strict=True)]
