"""Deathmatch by megastep's rules: as published, and with each of their faults mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.deathmatch.fights import BOX, FOUR, HOMES, made, place
from tests.eyes.raycast_oracle import look
from tests.packaged import packaged
from warpworld import World
from warpworld.errors import DeclarationError

RULES: dict[str, Any] = {"megastep_rules": True, "res": 64, "subsample": 4}


def act(world: World, actions: Any = 0) -> None:
    world["actions"][..., 0] = torch.as_tensor(actions)
    world.step()


def duel(mends: str = "", off: float = 0.0, **params: Any) -> World:
    """Two at a distance of 2 m who look at each other, so many degrees off."""
    world = made(2, **{**BOX, **RULES, **params}, megastep_mends=mends)
    place(world, [[2.0, 3.5], [4.0, 3.5]], [off, -180.0 + off])
    return world


def test_reward_is_how_many_are_in_the_crosshair() -> None:
    world = duel()
    act(world)
    assert world.data.numpy("rewards").tolist() == [[1.0, 1.0]] * 2
    assert world.data.numpy("health") == pytest.approx(np.full((2, 2), 0.949))
    act(world, [0, 5])  # the other one turns away by 1.8 degrees, its pixels are 1.3 and 1.3 degrees off the middle
    act(world, [0, 5])
    act(world, [0, 5])
    assert world.data.numpy("rewards").tolist() == [[1.0, 0.0]] * 2
    assert "observations_cooldown" not in world.data
    assert world.groups["player"].action.n == 7
    assert world.environment.scripts() == {}


def test_a_mended_reward_is_paid_by_who_is_hit() -> None:
    world = duel("reward")
    world["health"][:, 1] = 0.04
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, 90.0])
    act(world)
    assert world.data.numpy("rewards").tolist() == [[21.0, -21.0]] * 2  # a hit, and the 20 of a life


@pytest.mark.parametrize(("mends", "paid"), [("", 0.0), ("aim", 1.0)])
def test_a_mended_aim_has_a_cone(mends: str, paid: float) -> None:
    world = duel(mends, off=9.0, fire_cone=10.0)
    act(world)
    assert world.data.numpy("rewards").tolist() == [[paid, paid]] * 2


@pytest.mark.heavy
def test_it_hits_what_the_middle_pixels_show() -> None:
    """Rays 30 and 34 of 64, which are the third of each four, by brute force in float64."""
    world, draws = made(400, **{**HOMES, **FOUR, **RULES}), np.random.default_rng(0)
    number, plans, hits = world.data.numpy, world.environment.params.plan_set, 0
    world["positions"][:, 1] = torch.as_tensor(number("positions")[:, 0] + draws.uniform(-0.7, 0.7, (400, 2)))
    offset = number("positions")[:, 1] - number("positions")[:, 0]
    world["angles"][:, 0] = torch.as_tensor(
        np.degrees(np.arctan2(offset[:, 1], offset[:, 0])) + draws.normal(0.0, 3.0, 400)
    )
    act(world)
    for env in range(400):
        first, end = plans["plan_first_wall"][number("plan")[env] :][:2]
        walls = plans["plan_walls"][first:end].astype(np.float64)
        angles = np.radians(number("angles")[env].astype(np.float64))
        seen = look(walls, number("positions")[env].astype(np.float64), angles, 0, 64, 70.0, 0.15)
        if seen.margin[[30, 34]].min() < 1e-5:
            continue
        shown = {int(target) for target in seen.object[[30, 34]] if 0 <= target < 4}
        assert int(number("rewards")[env, 0]) == len(shown)
        assert int(number("shot")[env, 0]) == next((int(t) for t in seen.object[[30, 34]] if 0 <= t < 4), -2)
        hits += len(shown)
    assert hits > 150


def test_the_dead_move_the_next_body_and_are_paid_for_it() -> None:
    """Unless that is mended: then who dies is elsewhere in the same step."""
    for mends, dies_at_once in (("", False), ("credit", True)):
        world = duel(mends)
        number = world.data.numpy
        world["health"][:, 1] = 0.01
        act(world)
        assert number("deaths").tolist() == [[0, 1]] * 2
        assert number("agent_terminated").tolist() == [[False, dies_at_once]] * 2
        assert number("observations_health")[:, 1, 0].tolist() == [float(dies_at_once)] * 2
        act(world, [0, 3])
        assert number("agent_terminated").tolist() == [[False, not dies_at_once]] * 2
        assert number("health")[:, 1] == pytest.approx(1.0, abs=0.06)
        assert np.linalg.norm(number("velocity")[:, 1], axis=1) == pytest.approx(0.5)  # pushed once, in both cases


@pytest.mark.parametrize(("mends", "most"), [("", 4), ("spawns", 1000)])
def test_spawn_poses_are_few_unless_that_is_mended(mends: str, most: int) -> None:
    """In as many episodes as it takes to see each of four poses."""
    world = made(10, **{**HOMES, **FOUR, **RULES}, megastep_mends=mends, episode_length=1)
    seen: list[set[tuple[float, ...]]] = [set() for _ in range(40)]
    plans = set()
    for _ in range(60):
        act(world)
        poses = np.concatenate([world.data.numpy("positions"), world.data.numpy("angles")[..., None]], -1)
        for poses_seen, pose in zip(seen, poses.reshape(40, 3).tolist(), strict=True):
            poses_seen.add(tuple(pose))
        plans.add(tuple(world.data.numpy("plan").tolist()))
    counts = [len(poses_seen) for poses_seen in seen]
    assert (set(counts) == {4}) if most == 4 else min(counts) > 50
    assert (len(plans) == 1) == (most == 4)


@pytest.mark.heavy
@pytest.mark.parametrize(("mends", "lost"), [("", 0.051), ("bounds", 0.001)])
def test_health_drains_where_a_plan_is_wider_than_high(mends: str, lost: float) -> None:
    world = made(300, **{**RULES, "num_plans": 6, "min_rooms": 12}, megastep_mends=mends)
    number = world.data.numpy
    extent = world.data.numpy("plan_extent")[number("plan")]
    beyond = (number("positions") > extent[:, None, ::-1] + 1.0).any(-1)
    act(world)
    quiet = beyond & (number("shot")[:, ::-1] == -2)
    assert quiet.sum() > 10
    assert number("health")[quiet] == pytest.approx(1.0 - lost)
    assert number("health")[~beyond & (number("shot")[:, ::-1] == -2)] == pytest.approx(0.999)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"megastep_mends": "boundz"},
            "expected names separated by commas, of bounds, reward, aim, credit, spawns. Did you",
        ),
        ({"megastep_mends": "aim", "megastep_rules": False}, "fixes faults that only megastep_rules=true has"),
        ({"res": 4}, "pixels=1: expected at least 2 with megastep_rules=true; raise res"),
    ],
    ids=["name", "without", "pixels"],
)
def test_impossible_mends_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("deathmatch", 1, **{**BOX, **RULES, **params})
    assert message in str(error.value)
