"""What shots in Deathmatch hit: against brute force in float64, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.deathmatch.fights import BOX, FOUR, HOMES, act, face_off, made, place
from tests.envs.deathmatch.shots_oracle import Shots, shots
from warpworld import World


def walls_of(world: World, env: int) -> np.ndarray:
    plans, plan = world.environment.params.plan_set, int(world.data.numpy("plan")[env])
    first, end = plans["plan_first_wall"][plan : plan + 2]
    return plans["plan_walls"][first:end].astype(np.float64)


def expected(world: World, env: int) -> Shots:
    params, number = world.environment.params, world.data.numpy
    where = number("positions")[env].astype(np.float64), number("angles")[env].astype(np.float64)
    return shots(walls_of(world, env), *where, params.fire_cone, params.fire_range)


def aim(world: World, draws: np.random.Generator) -> None:
    """Everybody looks towards somebody else, some degrees off."""
    positions = world.data.numpy("positions")
    envs, agents = positions.shape[:2]
    target = (np.arange(agents) + draws.integers(1, agents, (envs, agents))) % agents
    offset = positions[np.arange(envs)[:, None], target] - positions
    angles = np.degrees(np.arctan2(offset[..., 1], offset[..., 0])) + draws.normal(0.0, 8.0, (envs, agents))
    world["angles"][:] = torch.as_tensor((angles + 180.0) % 360.0 - 180.0)


@pytest.mark.parametrize("params", [{}, dict(fire_cone=0.0), dict(fire_cone=15.0, fire_range=2.5)], ids=str)
@pytest.mark.parametrize("near", [0.0, 1.0])
def test_shots_hit_what_brute_force_says(params: dict[str, Any], near: float) -> None:
    world, draws = made(300, near, **{**HOMES, **FOUR, **params}), np.random.default_rng(0)
    aim(world, draws)
    before = world.data.numpy("positions").copy()
    act(world, fire=1)
    assert np.array_equal(before, world.data.numpy("positions"))  # what is at rest stays where it is
    hits = misses = unsure = 0
    shot, in_sight = world.data.numpy("shot"), world.data.numpy("in_sight")
    for env in range(300):
        found = expected(world, env)
        assert np.array_equal(in_sight[env][found.sure_sight], found.in_sight[found.sure_sight])
        assert np.array_equal(shot[env][found.sure_hit], found.hit[found.sure_hit])
        hits += int((found.hit[found.sure_hit] >= 0).sum())
        misses += int((found.hit[found.sure_hit] < 0).sum())
        unsure += int((~found.sure_hit).sum())
    assert hits > 50
    assert misses > 100
    assert unsure < 30


def test_a_shot_ends_where_it_hits_or_at_a_wall_or_its_range() -> None:
    world = made(1, **BOX, **FOUR, fire_range=3.0)
    number = world.data.numpy
    place(world, [[2.0, 2.0], [4.0, 2.0], [3.0, 5.0], [1.5, 3.5]], [0.0, 90.0, 90.0, 0.0])
    act(world, fire=1)
    assert number("shot").tolist() == [[1, -1, -1, -1]]
    assert np.array_equal(number("shot_from"), [[[2.0, 2.0], [4.0, 2.0], [3.0, 5.0], [1.5, 3.5]]])
    assert number("shot_to")[0] == pytest.approx(np.array([[4.0, 2.0], [4.0, 5.0], [3.0, 6.0], [4.5, 3.5]]), abs=1e-5)
    act(world, fire=1)  # nobody can
    assert number("shot").tolist() == [[-2, -2, -2, -2]]


def test_the_nearest_is_hit_and_nobody_behind() -> None:
    world = made(1, **BOX, **FOUR)
    place(world, [[2.0, 3.5], [4.0, 3.5], [3.0, 3.5], [5.0, 3.5]], [0.0, 90.0, 90.0, 90.0])
    act(world, fire=[1, 0, 0, 0])
    assert world.data.numpy("shot").tolist() == [[2, -2, -2, -2]]
    assert world.data.numpy("rewards").tolist() == [[0.25, 0.0, -0.25, 0.0]]


def test_no_shot_goes_through_a_wall() -> None:
    """Two who look at each other with a column between them, and beside it."""
    world = made(2, **{**BOX, "plans": "column"})
    column = walls_of(world, 0)[4:]
    middle, top = column.reshape(-1, 2).mean(0), column[:, 1].max()
    place(world, [[[x, middle[1]] for x in (1.5, 5.5)], [[x, top + 0.2] for x in (1.5, 5.5)]], [0.0, -180.0])
    act(world, fire=1)
    assert world.data.numpy("in_sight")[:, 0, 1].tolist() == [False, True]
    assert world.data.numpy("shot").tolist() == [[-1, -1], [1, 0]]


def test_shots_of_a_step_are_at_once() -> None:
    """Who is killed still fires: both die, both are paid, and both lives end."""
    world = face_off(2, kills_to_win=1)
    number = world.data.numpy
    world["health"][0] = 0.25
    act(world, fire=1)
    assert np.array_equal(number("rewards"), np.zeros((2, 2)))
    assert number("agent_terminated").tolist() == [[True, True], [False, False]]
    assert number("terminated").tolist() == [True, False]
    assert number("health")[1].tolist() == [0.75, 0.75]


def test_each_of_several_killers_is_paid_and_who_dies_pays_each() -> None:
    world = made(1, **BOX, **FOUR, kills_to_win=0)
    place(world, [[3.5, 3.5], [2.0, 3.5], [5.0, 3.5], [3.5, 2.0]], [90.0, 0.0, -180.0, 90.0])
    world["health"][:] = torch.as_tensor([[0.5, 1.0, 1.0, 1.0]])
    act(world, fire=[0, 1, 1, 1])
    assert world.data.numpy("rewards").tolist() == [[-3.75, 1.25, 1.25, 1.25]]
    assert world.data.numpy("kills").tolist() == [[0, 1, 1, 1]]
    assert world.data.numpy("deaths").tolist() == [[1, 0, 0, 0]]


def test_a_mirrored_duel_takes_the_mirrored_trajectory() -> None:
    """In a box that is symmetrical about y = 3.5, with left for right in every action; nobody dies in it."""
    params = dict(BOX, damage=0.001, fire_cone=20.0, cooldown=2)
    world, mirror, draws = made(50, **params), made(50, **params), np.random.default_rng(3)
    for name, sign, shift in (("positions", [1.0, -1.0], [0.0, 7.0]), ("angles", -1.0, 0.0)):
        mirror[name][:] = torch.as_tensor(shift + np.array(sign, np.float32) * world.data.numpy(name))
    swapped = np.array([[0, 2, 1, 3, 4], [0, 2, 1, 4, 3]])
    hits = 0
    for _ in range(60):
        move, turn, fire = draws.integers(0, 5, (50, 2)), draws.integers(0, 5, (50, 2)), draws.integers(0, 2, (50, 2))
        act(world, move, turn, fire)
        act(mirror, swapped[0][move], swapped[1][turn], fire)
        assert np.array_equal(world.data.numpy("shot"), mirror.data.numpy("shot"))
        assert np.array_equal(world.data.numpy("rewards"), mirror.data.numpy("rewards"))
        hits += int((world.data.numpy("shot") >= 0).sum())
    found, reflected = world.data.numpy("positions"), mirror.data.numpy("positions")
    assert reflected == pytest.approx(found * [1.0, -1.0] + [0.0, 7.0], abs=1e-3)
    assert hits > 100
