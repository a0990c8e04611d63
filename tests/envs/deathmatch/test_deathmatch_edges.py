"""Deathmatch at its limits: lines that touch corners, shots at the edge of their reach, spawns in full rooms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.envs.deathmatch.fights import BOX, FOUR, act, made, place
from tests.eyes.arenas import RADIUS
from tests.scripts import script_outputs
from warpworld import World
from warpworld.eyes.plans import Plan, box, write_plan

DIAMOND = [[4.0, 3.5], [3.5, 4.0], [3.0, 3.5], [3.5, 3.0]]  # corners that float32 holds exactly
STUB = [[[2.0, 5.0], [3.0, 5.0]]]


def with_walls(folder: Path, walls: Sequence[Sequence[Sequence[float]]]) -> str:
    """The file of a box of 5 m with more walls in it."""
    room = box()
    plan = Plan("walls", np.concatenate([room.walls, np.array(walls, np.float32)]), room.lights, room.rooms)
    write_plan(plan, folder / "walls.json")
    return str(folder / "walls.json")


def see_each_other(world: World, one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two agents at rest in these places have each other in sight, whichever of them is agent 0."""
    found = []
    for places in ([one, other], [other, one]):
        place(world, places, [0.0, 0.0])
        act(world)
        assert np.array_equal(world.data.numpy("positions")[0], np.array(places, np.float32))  # no wall pushed them
        in_sight = world.data.numpy("in_sight")[0]
        assert in_sight[0, 1] == in_sight[1, 0]
        found.append(bool(in_sight[0, 1]))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [([4.0, 2.0], [4.0, 5.0]), ([3.0, 2.0], [3.0, 5.0]), ([2.0, 4.0], [5.0, 4.0]), ([2.0, 3.0], [5.0, 3.0])],
    ids=["right", "left", "top", "bottom"],
)
def test_a_line_that_touches_a_corner_is_blocked(one: list[float], other: list[float], tmp_path: Path) -> None:
    """And one beside it is not."""
    world = made(1, **{**BOX, "plans": with_walls(tmp_path, np.stack([DIAMOND, np.roll(DIAMOND, -1, 0)], 1).tolist())})
    assert not see_each_other(world, one, other)
    away = np.sign(np.array(one) + other - 7.0) * 2.0**-10  # from the diamond's middle
    assert see_each_other(world, (np.array(one) + away).tolist(), (np.array(other) + away).tolist())


def test_a_wall_in_line_with_two_agents_is_between_them_or_is_not(tmp_path: Path) -> None:
    world = made(1, **{**BOX, "plans": with_walls(tmp_path, STUB)})
    assert not see_each_other(world, [1.5, 5.0], [4.0, 5.0])
    assert see_each_other(world, [3.5, 5.0], [5.0, 5.0])
    assert see_each_other(world, [1.25, 5.0], [1.75, 5.0])


@pytest.mark.parametrize("shooter", [0, 1, 3])
def test_of_two_as_near_the_lower_index_is_hit(shooter: int) -> None:
    world = made(1, **BOX, **FOUR, fire_cone=10.0)
    near = [agent for agent in range(3) if agent != shooter][:2]
    for sides in ((0.25, -0.25), (-0.25, 0.25)):
        places = np.full((4, 2), [1.5, 1.5], np.float32)  # behind the shooter
        places[shooter] = [2.0, 3.5]
        places[near] = [[4.0, 3.5 + side] for side in sides]
        place(world, places, np.zeros(4, np.float32))
        world["cooling"].zero_()
        act(world, fire=np.arange(4) == shooter)
        assert world.data.numpy("shot")[0, shooter] == near[0]


@pytest.mark.parametrize(("reach", "hit"), [(2.0, 1), (1.9999, -1)])
def test_a_gun_reaches_just_as_far_as_its_range(reach: float, hit: int) -> None:
    world = made(1, **BOX, fire_range=reach)
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, 0.0])
    act(world, fire=[1, 0])
    assert world.data.numpy("shot")[0, 0] == hit


@pytest.mark.parametrize(("beside", "hit"), [(np.float32(RADIUS), 1), (np.nextafter(np.float32(RADIUS), 1), -1)])
def test_a_shot_that_touches_a_disc_is_a_hit(beside: float, hit: int) -> None:
    """From y = 0, outside of the walls, where float32 holds the disc's radius as a distance."""
    world = made(1, **BOX, fire_cone=0.0)
    place(world, [[2.0, 0.0], [4.0, beside]], [0.0, 0.0])
    act(world, fire=[1, 0])
    assert world.data.numpy("shot")[0, 0] == hit


def tiny_rooms(folder: Path, count: int) -> str:
    """The file of a box whose only places to spawn are rooms of one cell, 0.2 m wide, a metre from each other."""
    rooms = np.zeros_like((room := box()).rooms)
    for number in range(count):
        rooms[15 + 5 * (number // 4), 10 + 5 * (number % 4)] = number + 1
    write_plan(Plan("tiny", room.walls, room.lights, rooms), folder / "tiny.json")
    return str(folder / "tiny.json")


def test_who_has_no_room_wakes_up_in_another_one(tmp_path: Path) -> None:
    """Of four who begin in one room, two fit in at most: corner to corner."""
    world = made(200, 1.0, **{**BOX, **FOUR, "plans": tiny_rooms(tmp_path, 8)})
    positions = world.data.numpy("positions").astype(np.float64)
    between = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1) + 9.0 * np.eye(4)
    assert between.min() >= 2.1 * RADIUS - 1e-5
    assert ((between < 0.3).any(1).sum(1) <= 2).all()


def test_who_dies_near_a_killer_without_room_wakes_up_in_another_one(tmp_path: Path) -> None:
    world = made(200, 1.0, **{**BOX, "plans": tiny_rooms(tmp_path, 8)})
    middle = world.environment.params.plan_set["plan_cells"][0]
    # from the middle of a cell, nothing in it is far enough
    place(world, middle + np.array([[0.0, 0.0], [0.0, 2.0]], np.float32), [90.0, 0.0])
    world["health"][:, 1] = 0.25
    act(world, fire=[1, 0])
    assert world.data.numpy("deaths")[:, 1].all()
    positions = world.data.numpy("positions").astype(np.float64)
    assert np.linalg.norm(positions[:, 0] - positions[:, 1], axis=1).min() > 0.8


def halves(folder: Path) -> str:
    """The file of a box with a room on either side of x = 3.5, and no wall between them."""
    room = box()
    rooms = np.where(room.rooms > 0, np.where(np.arange(room.rooms.shape[1]) < 17, 1, 2), room.rooms)
    write_plan(Plan("halves", room.walls, room.lights, rooms), folder / "halves.json")
    return str(folder / "halves.json")


def test_a_room_in_which_all_begin_is_drawn_by_its_cells(tmp_path: Path) -> None:
    world = made(1000, 1.0, **{**BOX, **FOUR, "plans": halves(tmp_path)})
    left = world.data.numpy("positions")[..., 0] < 3.4
    assert (left == left[:, :1]).mean() > 0.95  # a few have no place there
    first, second, end = world.environment.params.plan_set["room_first_cell"].tolist()
    assert left[:, 0].mean() == pytest.approx((second - first) / (end - first), abs=0.05)


@pytest.mark.parametrize(("first", "second"), [(2.0, 5.0), (5.0, 2.0)])
def test_of_several_killers_it_is_the_first_whose_room_counts(first: float, second: float, tmp_path: Path) -> None:
    world = made(100, 1.0, **{**BOX, **FOUR, "plans": halves(tmp_path)})
    angles = [0.0 if x < 3.5 else -180.0 for x in (first, second)]
    place(world, [[3.5, 5.5], [first, 3.5], [second, 3.5], [3.5, 3.5]], [90.0, *angles, 90.0])
    world["health"][:, 3] = 0.25
    act(world, fire=[0, 1, 1, 0])
    assert (world.data.numpy("deaths") == [0, 0, 0, 1]).all()
    assert (world.data.numpy("kills") == [0, 1, 1, 0]).all()
    side = world.data.numpy("positions")[:, 3, 0] < 3.4  # where the cells of the right room begin
    assert (side == (first < 3.5)).all()


def test_a_room_begins_with_its_first_cell(tmp_path: Path) -> None:
    """Whoever is killed from there wakes up in that room, not in the one before it."""
    world = made(100, 1.0, **{**BOX, "plans": halves(tmp_path)})
    plans = world.environment.params.plan_set
    first = plans["plan_cells"][plans["room_first_cell"][1]]
    place(world, first + np.array([[0.0, 0.0], [0.0, 2.0]], np.float32), [90.0, 0.0])
    world["health"][:, 1] = 0.25
    act(world, fire=[1, 0])
    assert world.data.numpy("deaths")[:, 1].all()
    assert (world.data.numpy("positions")[:, 1, 0] >= 3.4).all()


@pytest.mark.parametrize(("reach", "fires"), [(2.01, 1), (1.99, 0)])
def test_a_turret_fires_as_far_as_its_gun_reaches(reach: float, fires: int) -> None:
    world = made(1, **BOX, fire_range=reach)
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, 0.0])
    act(world)  # so that in_sight is of these places
    logits = script_outputs(world, "turret", "player")
    assert int(logits[0, 0, -2:].argmax()) == fires


@pytest.mark.parametrize(("damage", "shots"), [(0.2, 5), (0.1, 10), (0.3, 4), (0.0625, 16)])
def test_as_many_shots_kill_as_their_damages_add_up_to(damage: float, shots: int) -> None:
    """Also where a health of 1 less five times 0.2 is a little above 0."""
    world = made(1, **BOX, damage=damage, cooldown=1, kills_to_win=0)
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, 0.0])
    for shot in range(1, shots + 1):
        act(world, fire=[1, 0])
        assert world.data.numpy("agent_terminated")[0].tolist() == [False, shot == shots], shot
