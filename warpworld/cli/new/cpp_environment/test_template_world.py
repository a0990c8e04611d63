"""Tests of template_world: its rules, its states, and its kernels under `warpworld check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from template_world import TemplateWorld

from warpworld import World

END, ROLL = 0, 1


def new_world(num_envs: int = 64, **params: Any) -> World:
    """A world at the start of its first games."""
    world = World(TemplateWorld(**params), num_envs, "cpu")
    world.reset()
    return world


def played(world: World, action: int) -> torch.Tensor:
    """(envs,) points that the player has in its turn after a step of every env."""
    world["actions"] = action
    world.step()
    return (world["observations"][:, 0, 0] * 100).round()


def test_a_roll_adds_two_to_six_points_or_takes_all() -> None:
    world = new_world()
    before = played(world, ROLL)
    assert before.unique().tolist() == [0, 2, 3, 4, 5, 6]
    after = played(world, ROLL)
    assert ((after == 0) | ((after - before >= 2) & (after - before <= 6))).all()
    assert (after[before > 0] > 0).any()


def test_the_end_of_a_turn_pays_its_points() -> None:
    world = new_world()
    points = played(world, ROLL)
    assert not world["rewards"].any()
    assert not played(world, END).any()
    assert torch.equal((world["rewards"][:, 0] * 10).round(), points)


def test_a_game_ends_after_its_turns() -> None:
    world = new_world(2, num_turns=3)
    for ended in (False, False, True, False):
        played(world, END)
        assert world["terminated"].tolist() == [ended] * 2


def test_a_state_brings_back_dice_and_points() -> None:
    world = new_world()
    played(world, ROLL)
    state = world.state()
    expected = [played(world, ROLL) for _ in range(5)]
    world.set_state(range(64), state)
    assert all(torch.equal(played(world, ROLL), points) for points in expected)


def test_the_kernels_are_clean(check_environment: Callable[..., Any]) -> None:
    check_environment(TemplateWorld)
