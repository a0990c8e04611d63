"""Worlds under random actions: driving them, and comparing where they come to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from warpworld import World
from warpworld.environment import action_heads

MOST_ENVS = 500  # of worlds that are driven


class Driver:
    """Random actions for a world: those of an env depend on its global index alone."""

    def __init__(self, world: World, seed: int = 0, first_env: int = 0) -> None:
        self.world = world
        self._generator = np.random.default_rng(seed)
        self._first_env = first_env

    def act(self) -> None:
        """Put new actions in place."""
        chosen = slice(self._first_env, self._first_env + self.world.num_envs)
        for group in self.world.groups.values():
            name, first = self.world.action_array(group.name)
            view = self.world[name][:, first : first + group.size]
            shape = (MOST_ENVS, *view.shape[1:])
            heads = action_heads(group.action)
            drawn = self._generator.integers(0, heads, shape) if heads else self._generator.uniform(-1, 1, shape)
            view.copy_(torch.from_numpy(drawn[chosen]))

    def step(self) -> None:
        """A step with random actions."""
        self.act()
        self.world.step()


def values(world: World) -> dict[str, np.ndarray]:
    """A copy of every array, but for what says which envs a launch was for."""
    return {name: world.data.numpy(name).copy() for name in world.data if name != "active"}


def per_env(world: World) -> list[str]:
    """The arrays that have a part for each env."""
    return [name for name in world.data if name != "active" and world.data.array(name).per != "world"]


def ended(world: World) -> np.ndarray:
    """(num_envs,) bool: the episode ended in the last step."""
    return (world["terminated"] | world["truncated"]).cpu().numpy()


def assert_equal(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    """The same arrays with the same bytes."""
    assert list(first) == list(second)
    different = [name for name in first if first[name].tobytes() != second[name].tobytes()]
    assert not different, f"these arrays differ: {different}"


def assert_same_trajectory(first: World, second: World, num_steps: int) -> int:
    """Step two worlds with the same actions; all bytes stay the same. Returns how many episodes ended."""
    drivers = Driver(first), Driver(second)
    for world in (first, second):
        world.reset()
    assert_equal(values(first), values(second))
    ends = 0
    for _ in range(num_steps):
        for driver in drivers:
            driver.step()
        assert_equal(values(first), values(second))
        ends += int(ended(first).sum())
    return ends


def trajectory_of(world: World, env: int, num_steps: int, first_env: int = 0) -> Iterator[dict[str, np.ndarray]]:
    """What an env's arrays hold after a reset and after each of some steps."""
    driver = Driver(world, first_env=first_env)
    world.reset()
    for _ in range(num_steps):
        yield {name: world.data.numpy(name)[env].copy() for name in per_env(world)}
        driver.step()
