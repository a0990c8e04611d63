"""A planner: before each step it forks one env into many, plays each on at random, and takes the best first action.

python examples/planner.py
"""

from __future__ import annotations

import torch

import warpworld
from warpworld import World


def best_action(world: World, horizon: int, generator: torch.Generator) -> int:
    """The first action of the branch that lasted longest.

    Env 0 is the one that is planned for; all others are branches of it.
    """
    branches = torch.arange(1, world.num_envs)
    world.fork(0, branches.tolist())
    alive = torch.ones(world.num_envs, dtype=torch.bool)
    alive[0] = False  # the real env waits
    lasted = torch.zeros(world.num_envs)
    first = torch.randint(0, 2, (world.num_envs,), generator=generator, dtype=torch.int32)
    for step in range(horizon):
        drawn = torch.randint(0, 2, (world.num_envs,), generator=generator, dtype=torch.int32)
        world["actions"] = (first if step == 0 else drawn)[:, None, None]
        world.step_some(alive)
        alive &= ~world["terminated"]
        lasted += alive
    means = [float(lasted[1:][first[1:] == action].mean()) for action in (0, 1)]
    return int(means[1] > means[0])


def play(steps: int = 200, num_branches: int = 64, horizon: int = 30, seed: int = 0) -> int:
    """Balance a pole by planning; returns how many steps it stayed up."""
    generator = torch.Generator().manual_seed(seed)
    world = warpworld.make("cartpole", 1 + num_branches, device="cpu", seed=seed, autoreset="disabled")
    world.reset()
    only_env_0 = torch.arange(world.num_envs) == 0
    for step in range(steps):
        world["actions"] = best_action(world, horizon, generator)
        world.step_some(only_env_0)
        if bool(world["terminated"][0]):
            return step
    return steps


if __name__ == "__main__":
    print(f"the pole stayed up for {play()} of 200 steps; with random actions it falls after about 22")
