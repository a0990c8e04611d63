"""warpworld's own worlds, stepped through ``World.step()``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

import warpworld
from warpworld import World
from warpworld.environment import action_heads, get_environment

from .clock import Timing, measure
from .rows import Row

DRAWS = 16  # sets of random actions, used in turn

# WarpDrive's run of Tag Continuous
TAG_CONTINUOUS = {
    "num_taggers": 10,
    "num_runners": 100,
    "grid_length": 20.0,
    "episode_length": 500,
    "use_full_observation": False,
    "num_other_agents_observed": 10,
    "max_acceleration": 0.1,
    "min_acceleration": -0.1,
    "max_turn": 2.356,
    "min_turn": -2.356,
    "num_acceleration_levels": 20,
    "num_turn_levels": 20,
    "tagging_distance": 0.02,
}
TAG_GRIDWORLD = {"num_taggers": 4, "grid_length": 20, "use_full_observation": False}
CROWDED_GRIDWORLD = {"num_taggers": 999, "grid_length": 100, "use_full_observation": False}

# environment, label, numbers of envs, parameters
CASES: tuple[tuple[str, str, tuple[int, ...], dict[str, Any]], ...] = (
    ("cartpole", "cartpole", (8, 64, 1024, 4096), {}),
    ("pendulum", "pendulum", (4096,), {}),
    ("recall", "recall", (4096,), {}),
    ("minatar_breakout", "minatar_breakout", (4096,), {}),
    ("minatar_freeway", "minatar_freeway", (4096,), {}),
    ("tag_gridworld", "tag_gridworld, partial", (2000,), TAG_GRIDWORLD),
    ("tag_gridworld", "tag_gridworld, 1000 agents", (100,), CROWDED_GRIDWORLD),
    ("tag_continuous", "tag_continuous, 10 nearest", (100,), TAG_CONTINUOUS),
)


def random_actions(world: warpworld.World, generator: np.random.Generator) -> dict[str, torch.Tensor]:
    """Uniform actions for every action array."""
    drawn: dict[str, torch.Tensor] = {}
    for group in world.groups.values():
        name, first = world.action_array(group.name)
        if name not in drawn:
            drawn[name] = torch.zeros_like(world[name])
        view, heads = drawn[name][:, first : first + group.size], action_heads(group.action)
        values = generator.integers(0, heads, view.shape) if heads else _within(group.action, generator, view.shape)
        view.copy_(torch.from_numpy(values))
    return drawn


def _within(box: Any, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform between the bounds of a Box, which are finite."""
    return generator.uniform(box.low.ravel(), box.high.ravel(), shape)


def rows(workers: Sequence[int], seconds: float, only: str | None = None) -> Iterator[Row]:
    """Measure every case, or those whose name contains ``only``, with each number of workers."""
    for name, label, sizes, params in CASES:
        if only is not None and only not in name:
            continue
        for num_envs in sizes:
            for num_workers in workers:
                yield _row(name, label, num_envs, num_workers, seconds, params)


def _row(name: str, label: str, num_envs: int, num_workers: int, seconds: float, params: dict[str, Any]) -> Row:
    world = World(get_environment(name)(**params), num_envs, device="cpu", num_workers=num_workers)
    timing = measured(world, seconds)
    return Row(label, "warpworld", num_envs, world.num_agents, num_workers, timing.median, timing.spread)


def measured(world: warpworld.World, seconds: float) -> Timing:
    """Time of a step with random actions, of a world that is reset first."""
    world.reset()
    generator = np.random.default_rng(0)
    sets = [random_actions(world, generator) for _ in range(DRAWS)]

    def redraw(number: int) -> None:
        for array, values in sets[number % DRAWS].items():
            world[array].copy_(values)

    return measure(world.step, redraw, seconds)
