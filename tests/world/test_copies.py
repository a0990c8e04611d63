"""Copies of worlds: whole and on their own, or refused."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import warpworld
from tests.envs.small_worlds import framework_s
from tests.toys import environment
from tests.world.walks import Toy
from warpworld import Array, Environment, World
from warpworld.environment import packaged_names
from warpworld.errors import StoreError
from warpworld.trainers.collecting.episodes import EpisodeStatistics
from warpworld.world.random_actions import RandomActions

SMALL: dict[str, dict[str, Any]] = {
    "cartpole": {"episode_length": 9},
    "minatar_asterix": {"episode_length": 9},
    "minatar_breakout": {"episode_length": 9},
    "minatar_freeway": {"episode_length": 9},
    "minatar_seaquest": {"episode_length": 9},
    "minatar_space_invaders": {"episode_length": 9},
    "pendulum": {"episode_length": 9},
    "recall": {"delay": 5},
    "tag_gridworld": {"num_taggers": 3, "grid_length": 5, "episode_length": 7},
    "tag_continuous": {"num_taggers": 2, "num_runners": 3, "episode_length": 7},
}


def step(world: World, steps: int, seed: int) -> None:
    actions = RandomActions(world, seed)
    for _ in range(steps):
        actions.draw()
        actions.put(world, slice(0, world.num_envs))
        world.step()


def contents(world: World) -> dict[str, torch.Tensor]:
    return {name: world[name].clone() for name in world.data}


def bits(values: torch.Tensor) -> torch.Tensor:
    """NaN is equal to itself by its bits."""
    return values.reshape(-1).view(torch.uint8)


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert list(one) == list(other)
    for name, values in one.items():
        assert torch.equal(bits(values), bits(other[name])), name


def recorded(world: World) -> World:
    """A world with what a trainer adds: arrays, rows, requests, a kernel's number."""
    world.add(Array("mine", "int32", initial=3))
    world.add(Array("at", "int32", per="world", initial=1))
    world.add(Array("rows", "float32", (2, world.num_envs, world.num_agents), per="world"), kept="derived")
    world.record("rewards", "rows", "at")
    world.add(Array("ring", "bool", (3, world.num_envs), per="world"), kept="history")
    world.record("terminated", "ring", "at")
    world.request("final_observations")
    world.kernel_index()
    return world


@pytest.mark.parametrize("name", framework_s(packaged_names()))
def test_the_trajectory_is_the_same_and_on_its_own(name: str) -> None:
    world = recorded(warpworld.make(name, num_envs=5, seed=7, **SMALL.get(name, {})))
    world.reset()
    step(world, 11, seed=1)
    before = contents(world)
    twin = copy.deepcopy(world)
    assert twin.device == world.device
    assert_equal(contents(twin), before)
    step(twin, 12, seed=2)
    assert_equal(contents(world), before)
    step(world, 12, seed=2)
    assert_equal(contents(world), contents(twin))
    assert torch.equal(twin["rows"][1], twin["rewards"]) and min(twin["clock"].tolist()) >= 24
    twin.reset()
    world.reset()
    assert_equal(contents(world), contents(twin))


def test_of_a_world_that_is_not_sealed(walk: Toy) -> None:
    world = recorded(walk(goal=4, seed=9, first_env=100))
    twin = copy.deepcopy(world)
    twin.add(Array("of_the_twin", "int32"))
    twin.record("mine", "of_the_twin")
    assert "of_the_twin" not in world and not world.data.sealed
    assert twin.kernel_index() == world.kernel_index() == 14
    for each in (twin, world):
        each.reset()
        step(each, 9, seed=3)
    of_twin = contents(twin)
    del of_twin["of_the_twin"]
    assert_equal(of_twin, contents(world))


def test_with_what_the_world_was_made_with(walk: Toy) -> None:
    world = walk(seed=2**40 + 1, first_env=30, envs_per_warp=4, num_workers=1)
    world.reset()
    twin = copy.deepcopy(world)
    assert (twin.num_envs, twin.first_env, twin.num_agents) == (6, 30, 2)
    for each in (world, twin):
        each.reset()
        step(each, 5, seed=1)
    assert_equal(contents(world), contents(twin))
    assert twin.environment is not world.environment


def test_an_environment_that_keeps_something_in_python(toy: Toy) -> None:
    class Counting(Environment):
        """Its agents see how often it was stepped."""

        def __init__(self) -> None:
            super().__init__()
            self.steps = 0

        groups = type(environment(None)).groups
        arrays = type(environment(None)).arrays

        def phases(self) -> list[Callable[..., None]]:
            return [self.count]

        def count(self, arrays: Any, active: torch.Tensor) -> None:
            self.steps += 1
            arrays["observations"] = float(self.steps)

    world = World(Counting(), 2, device="cpu")
    world.reset()
    world.step()
    twin = copy.deepcopy(world)
    twin.step()
    twin.step()
    world.step()
    assert world["observations"].unique().tolist() == [2] and twin["observations"].unique().tolist() == [3]


def test_an_environment_that_cannot_be_copied(toy: Toy) -> None:
    world = toy(None, phases=[lambda arrays, active: None])
    world.environment.lock = threading.Lock()  # type: ignore[attr-defined]
    world.reset()
    message = (
        r"^Toy: the environment cannot be copied, so neither can its world: cannot pickle '_thread.lock' object; "
        r"give its class a __deepcopy__$"
    )
    with pytest.raises(StoreError, match=message):
        copy.deepcopy(world)


def test_parts_that_wait_for_memory_are_not_copied(walk: Toy) -> None:
    world = walk()
    world.when_sealed(lambda: None)
    message = (
        r"^parts of this world wait for its memory, and a copy would not have them; copy it before they are made, or "
        r"after its first reset\(\)$"
    )
    with pytest.raises(StoreError, match=message):
        copy.deepcopy(world)
    world.reset()
    copy.deepcopy(world).step()


def test_what_is_bound_to_a_store_is_not_copied(walk: Toy) -> None:
    world = walk()
    for name, dtype in (("rewards", "float32"), ("terminated", "bool"), ("truncated", "bool")):
        shape = (3, *world.data.array(name).full_shape(world.num_envs, world.num_agents))
        world.add(Array(f"rollout_{name}", dtype, shape, per="world"), kept="derived")
    part = EpisodeStatistics(world, 3)
    world.reset()
    message = (
        r"^the kernels of episodes.cu are bound to their world's arrays; copy the world, and make this part again$"
    )
    with pytest.raises(StoreError, match=message):
        copy.deepcopy(part)


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("duplicate", [copy.copy, pickle.dumps])
def test_a_world_is_not_pickled(walk: Toy, duplicate: Callable[[World], Any], sealed: bool) -> None:
    world = walk()
    if sealed:
        world.reset()
    message = (
        r"^a World is bound to memory and kernels of this process, so pickle and copy.copy cannot copy it. Save its "
        r"snapshot\(\) and restore\(\) it in a World made in the same way, or use copy.deepcopy in this process$"
    )
    with pytest.raises(StoreError, match=message):
        duplicate(world)
