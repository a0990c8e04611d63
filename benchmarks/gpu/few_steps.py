"""A few steps, resets and drawn actions of one world of compare.py: what memcheck runs."""

from __future__ import annotations

import sys

import torch

from warpworld import World
from warpworld.environment import get_environment
from warpworld.trainers.rollout import Rollout

from .clock import synchronise
from .compare import courses

NUM_ENVS, NUM_STEPS = 3, 6


def main(number: int, device: str) -> None:
    """A rollout at random, then a reset of some envs."""
    course = courses()[number]
    world = World(get_environment(course.name)(**{**course.params, "episode_length": 4}), NUM_ENVS, device)
    rollout = Rollout(world, dict.fromkeys(world.groups), NUM_STEPS)
    world.reset()
    rollout.freeze()
    rollout.collect()
    world.reset(torch.tensor([True, False, True], device=world.device))
    world.step()
    synchronise(device)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
