"""Deathmatch's rules: what shots cost and pay, how long a gun rests, and what a death ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.envs.deathmatch.fights import BOX, FOUR, HOMES, act, face_off, made, random_step
from tests.packaged import packaged
from warpworld.errors import DeclarationError


@pytest.mark.heavy
@pytest.mark.parametrize("params", [{}, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("plans", [BOX, HOMES], ids=["box", "homes"])
def test_what_one_gets_another_pays(plans: dict[str, Any], params: dict[str, Any]) -> None:
    """Exactly, in float32, in every step; kills and deaths too."""
    world, draws = made(40, near_spawn=1.0, fire_cone=30.0, cooldown=2, **plans, **params), np.random.default_rng(0)
    paid = died = 0
    for _ in range(150):
        random_step(world, draws)
        rewards = world.data.numpy("rewards")
        assert (rewards.sum(axis=1) == 0.0).all()
        assert (rewards == np.round(rewards * 4.0) / 4.0).all()  # nothing is lost to rounding either
        paid += int((rewards != 0.0).sum())
        died += int(world.data.numpy("agent_terminated").sum())
    assert paid > 500
    assert died > 50


def test_a_hit_costs_a_quarter_of_health_and_a_life_four() -> None:
    """One fires at the other, who does nothing: by hand."""
    world = face_off(3, cooldown=1, kills_to_win=0)
    number = world.data.numpy
    for hit in range(1, 4):
        act(world, fire=[1, 0])
        assert np.array_equal(number("rewards"), [[0.25, -0.25]] * 3)
        assert np.array_equal(number("health"), [[1.0, 1.0 - 0.25 * hit]] * 3)
        assert np.array_equal(number("observations_health")[..., 0], number("health"))
        assert np.array_equal(number("shot"), [[1, -2]] * 3)
        assert not number("agent_terminated").any()
    act(world, fire=[1, 0])
    assert np.array_equal(number("rewards"), [[1.25, -1.25]] * 3)
    assert np.array_equal(number("agent_terminated"), [[False, True]] * 3)
    assert np.array_equal(number("kills"), [[1, 0]] * 3)
    assert np.array_equal(number("deaths"), [[0, 1]] * 3)
    assert np.array_equal(number("health"), np.ones((3, 2)))
    assert not number("terminated").any()


def test_a_gun_fires_once_in_cooldown_steps() -> None:
    world = face_off(1, cooldown=3, kills_to_win=0, episode_length=1000)
    fired, left = [], []
    for _ in range(9):
        act(world, fire=[1, 0])
        fired.append(int(world.data.numpy("shot")[0, 0]) >= -1)
        left.append(float(world.data.numpy("observations_cooldown")[0, 0, 0]))
    assert fired == [True, False, False] * 3
    assert left == pytest.approx([2 / 3, 1 / 3, 0.0] * 3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"players": 0}, "players=0: expected 1 to 2^31 - 1"),
        ({"rivals": -1}, "rivals=-1: expected 0 to 2^31 - 1"),
        ({"rivals": 0}, "players=1 and rivals=0: expected at least 2 agents"),
        ({"players": 300}, "deathmatch: 301 agents, res=16 and the 4 walls of plan 'box 5 m' take"),
        ({"damage": 0.0}, "damage=0.0: expected 0.001 to 1"),
        ({"cooldown": 0}, "cooldown=0: expected 1 to 2^31 - 1"),
        ({"fire_cone": 90.0}, "fire_cone=90.0: expected 0 to 89"),
        ({"fire_range": 0.0}, "fire_range=0.0: expected 0.001 to 1000000"),
        ({"kill_reward": -1.0}, "kill_reward=-1.0: expected 0 to 1000000"),
        ({"kills_to_win": -1}, "kills_to_win=-1: expected 0 to 2^31 - 1"),
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"shaping_gamma": 1.5}, "shaping_gamma=1.5: expected 0 to 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("deathmatch", 1, **{**BOX, **params})
    assert message in str(error.value)
