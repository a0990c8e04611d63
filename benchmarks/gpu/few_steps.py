"""A few steps, resets and drawn actions of one small world: what memcheck runs, and what fills the build cache."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import replace

import torch

from warpworld import World
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.rollout import Rollout

from . import eyes
from .cases import CARTPOLE, TAG_CONTINUOUS, TAG_GRIDWORLD, THOUSAND_AGENTS, THOUSAND_ON_A_GRID, THOUSANDS_ON_A_GRID
from .clock import synchronise
from .compare import ComparedWorld, compared_worlds

NUM_ENVS, NUM_STEPS = 3, 6
FEW_HOMES = {"num_plans": 2}  # kernels do not depend on how many there are


def short_worlds() -> list[ComparedWorld]:
    """The worlds that are compared, then those that are measured, the ones with eyes on fewer homes."""
    tables = (CARTPOLE, TAG_GRIDWORLD, TAG_CONTINUOUS, THOUSAND_AGENTS, THOUSAND_ON_A_GRID, *THOUSANDS_ON_A_GRID)
    views = [ComparedWorld(case.name, {**case.params, **FEW_HOMES}) for case in eyes.CASES]
    brute = [replace(view, name=f"{view.name} by brute force", own=eyes.BRUTE[view.name]) for view in views]
    return [*compared_worlds(), *(ComparedWorld(case.name, case.params) for case in tables), *views, *brute]


def main(number: int, device: str) -> None:
    """A rollout at random, then a reset of some envs."""
    compared = short_worlds()[number]
    names = {field.name for field in dataclasses.fields(compared.kind.Params)}
    short = {"episode_length": 4} if "episode_length" in names else {}
    threads = 1 if device == "cpu" else None  # as many of these processes run at once as there are cores
    world = World(compared.kind(**{**compared.params, **short}), NUM_ENVS, device, num_workers=threads)
    collector = Collector(world, NUM_STEPS, graph_steps=0)
    for group in world.groups:
        collector.shared(Rollout).record(group, None)
    world.reset()
    collector.collect()
    world.reset(torch.tensor([True, False, True], device=world.device))
    world.step()
    synchronise(device)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
