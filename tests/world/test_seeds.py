"""Seeds of resets: which trajectory an env walks from there on."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import warpworld
from warpworld import World
from warpworld.errors import DeclarationError


def cartpole(num_envs: int, seed: int = 0, **options: Any) -> World:
    return World(warpworld.environment.get_environment("cartpole")(episode_length=20), num_envs, seed=seed, **options)


def trajectory(world: World, env: int, steps: int = 60) -> list[list[float]]:
    """What an env sees under actions that are the same for all envs."""
    seen = [world["observations"][env].flatten().tolist()]
    for step in range(steps):
        world["actions"] = step // 3 % 2
        world.step()
        seen.append(world["observations"][env].flatten().tolist())
    return seen


def test_one_seed_is_a_new_world_of_it() -> None:
    used, fresh = cartpole(6, seed=3, first_env=2), cartpole(6, seed=2**64 - 1, first_env=2)
    used.reset()
    trajectory(used, 0, 30)
    used.reset(seed=2**64 - 1)
    fresh.reset()
    for name in ("observations", "clock", "random_key", "random_stream", "timestep"):
        assert torch.equal(used[name], fresh[name]), name
    assert trajectory(used, 4) == trajectory(fresh, 4)


def test_the_same_seed_again_is_the_same_trajectory() -> None:
    world = cartpole(3)
    world.reset(seed=8)
    first = trajectory(world, 1)
    world.reset()
    assert trajectory(world, 1) != first
    world.reset(seed=8)
    assert trajectory(world, 1) == first


def test_a_seed_for_each_env_is_a_world_of_one_env() -> None:
    seeds = [5, 5, 11, 2**63 + 1]
    world = cartpole(4, seed=1, first_env=7)
    world.reset(seed=seeds)
    together = [[], [], [], []]
    trajectories = []
    for env in range(4):
        world.reset(seed=seeds)
        together[env] = trajectory(world, env)
        alone = cartpole(1, seed=seeds[env])
        alone.reset()
        trajectories.append(trajectory(alone, 0))
    assert together == trajectories
    assert trajectories[0] == trajectories[1] != trajectories[2]


def test_of_masked_envs_and_of_those_with_a_seed_alone() -> None:
    world = cartpole(4, seed=1)
    world.reset()
    trajectory(world, 0, 3)
    keys, clocks = world["random_key"].tolist(), world["clock"].tolist()
    world.reset(torch.tensor([True, True, False, False], device=world.device), seed=[9, None, 9, None])
    assert world["random_key"].tolist() == [9, *keys[1:]]
    assert world["random_stream"].tolist() == [0, 1, 2, 3]
    assert world["clock"].tolist() == [1, clocks[1] + 1, *clocks[2:]]


def test_snapshots_hold_them() -> None:
    world, other = cartpole(3, seed=1), cartpole(3, seed=2)
    world.reset(seed=[4, 5, 6])
    other.reset()
    other.restore(world.snapshot())
    assert trajectory(world, 2) == trajectory(other, 2)


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (-1, "seed=-1: expected a whole number of at least 0 and below 2^64"),
        (2**64, f"seed={2**64}: expected a whole number of at least 0 and below 2^64"),
        (1.5, "seed=1.5: expected a whole number of at least 0 and below 2^64"),
        (True, "seed=True: expected a whole number of at least 0 and below 2^64"),
        ("7", "seed='7': expected a whole number of at least 0 and below 2^64"),
        ([1] * 7, "seed: 7 entries, expected one for each of 3 envs"),
        ([1, -2, 3], "seed[1]=-2: expected a whole number of at least 0 and below 2^64"),
        ([1, 0.5, 2], "seed[1]=0.5: expected a whole number of at least 0 and below 2^64"),
    ],
    ids=repr,
)
def test_what_is_no_seed(seed: Any, message: str) -> None:
    world = cartpole(3)
    world.reset()
    with pytest.raises(DeclarationError) as caught:
        world.reset(seed=seed)
    assert str(caught.value) == message
    world.data["active"] = True
    assert torch.equal(world["random_key"], torch.zeros(3, dtype=torch.uint64, device=world.device))
