"""What an agent step of tag_gridworld costs as agents grow: CPU time of one core, so that other work counts less.

``python -m warpworld.benchmarks.crowds`` prints the table. The best of several windows counts.
"""

from __future__ import annotations

import time

import numpy as np

import warpworld
from warpworld.environment import get_environment

from .worlds import random_actions

AGENTS = (5, 20, 100, 500, 1000)
ALL_AGENTS = 10_000  # of all envs
WINDOWS, STEPS = 20, 20


def seconds_per_env_step(agents: int, full: bool) -> float:
    """CPU time of a step of one env with random actions, which are the same in all steps; resets included."""
    params = {"num_taggers": agents - 1, "grid_length": 100, "use_full_observation": full}
    num_envs = ALL_AGENTS // agents
    world = warpworld.World(get_environment("tag_gridworld")(**params), num_envs, device="cpu", num_workers=1)
    world.reset()
    for name, values in random_actions(world, np.random.default_rng(0)).items():
        world[name].copy_(values)
    return min(_window(world) for _ in range(WINDOWS)) / num_envs


def _window(world: warpworld.World) -> float:
    start = time.process_time()
    for _ in range(STEPS):
        world.step()
    return (time.process_time() - start) / STEPS


def main() -> None:
    """Print the table."""
    print("| agents | partial: us per env step | ns per agent step | full: us per env step | ns per agent step |")
    print("|---|---|---|---|---|")
    for agents in AGENTS:
        seconds = [seconds_per_env_step(agents, full) for full in (False, True)]
        cells = [f"{s * 1e6:.3g} | {s * 1e9 / agents:.3g}" for s in seconds]
        print(f"| {agents} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
