"""Homes: what every one of them keeps to, and what a thousand of them look like on average."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.eyes.plans.plan_oracle import Walk, distances, turns
from warpworld.errors import PlanError
from warpworld.eyes.plans import Plan, home, homes
from warpworld.eyes.plans.constants import CLEARANCE, RADIUS

HOMES = homes(seed=7, count=5)
SMALL = homes(seed=7, count=3, rooms=(2, 4))


@pytest.fixture(scope="module", params=[*HOMES, *SMALL], ids=lambda plan: f"{plan.num_rooms} rooms")
def plan(request: pytest.FixtureRequest) -> Plan:
    return request.param


@pytest.fixture(scope="module")
def walk(plan: Plan) -> Walk:
    return Walk(plan)


@pytest.mark.long
def test_every_room_can_be_reached_from_every_other_by_the_disc(plan: Plan, walk: Walk) -> None:
    reached = walk.from_room(1, RADIUS)
    assert set(walk.room[reached & (walk.room > 0)]) == set(range(1, plan.num_rooms + 1))
    spawn = plan.cells_clear_of_walls(RADIUS + CLEARANCE)
    for x, y in plan.centres(np.argwhere(spawn)):
        assert reached[int(y / 0.05 + 1e-3), int(x / 0.05 + 1e-3)], f"({x}, {y}) is cut off"


@pytest.mark.long
def test_no_way_leads_outside_even_for_a_small_disc(walk: Walk) -> None:
    outside = walk.from_outside(0.03)  # wider than the lattice: nothing slips between its points
    assert outside.any()
    assert not (outside & (walk.room > 0)).any()


def test_outlines_are_closed_and_have_the_free_space_on_their_left(plan: Plan) -> None:
    starts, ends = (Counter(map(tuple, plan.walls[:, end].tolist())) for end in (0, 1))
    assert starts == ends
    middle, along = plan.walls.mean(1), plan.walls[:, 1] - plan.walls[:, 0]
    left = np.stack([-along[:, 1], along[:, 0]], -1) / np.linalg.norm(along, axis=1)[:, None]
    assert set(turns(middle + 0.02 * left, plan.walls).tolist()) == {0}
    assert set(turns(middle - 0.02 * left, plan.walls).tolist()) == {-1}


@pytest.mark.long
def test_walls_doors_and_rooms_have_the_sizes_of_homes(plan: Plan, walk: Walk) -> None:
    assert np.linalg.norm(plan.walls[:, 1] - plan.walls[:, 0], axis=1).min() >= 0.05 - 1e-6
    some = np.random.default_rng(0).permutation(walk.room.size)[:4000]
    solid = turns(walk.points.reshape(-1, 2)[some], plan.walls) < 0
    assert 0.08 < solid.mean() < 0.4
    assert (walk.room.ravel()[some][solid] == -1).all(), "the map of rooms shows every slab"
    through_doors = walk.from_room(1, 0.37)  # the narrowest is 0.8 m wide, and no point of the lattice is in its middle
    assert set(walk.room[through_doors & (walk.room > 0)]) == set(range(1, plan.num_rooms + 1))


def test_one_light_in_each_room(plan: Plan) -> None:
    column, row = ((plan.lights[:, :2] - plan.origin) / plan.resolution).astype(int).T
    assert sorted(plan.rooms[row, column]) == list(range(1, plan.num_rooms + 1))
    assert ((plan.lights[:, 2] >= 0.5) & (plan.lights[:, 2] <= 2.0)).all()
    assert distances(plan.lights[:, :2].astype(np.float64), plan.walls).min() > 0.2


def test_doors_make_loops() -> None:
    """Where one can walk in a circle, the outlines have a loop of walls within the house: clockwise, around a slab."""

    def islands(plan: Plan) -> int:
        onward = {tuple(start): tuple(end) for start, end in plan.walls.tolist()}
        found = 0
        while onward:
            first, corner = onward.popitem()
            loop = [first]
            while corner != first:
                loop.append(corner)
                corner = onward.pop(corner)
            x, y = np.transpose(loop)
            found += bool(x @ np.roll(y, -1) < np.roll(x, -1) @ y)
        return found - 1

    loops = [islands(plan) for plan in homes(seed=4, count=30)]
    assert min(loops) >= 1
    assert np.mean(loops) > 2


def test_a_home_depends_on_seed_and_index_alone() -> None:
    again = home(7, 4)
    for name in ("walls", "lights", "rooms"):
        assert np.array_equal(getattr(again, name), getattr(HOMES[4], name))
    assert not any(np.array_equal(again.walls, other.walls) for other in [home(7, 5), home(8, 4)])


def test_statistics_are_those_of_dwellings() -> None:
    """The table of docs/plans.md."""
    plans = homes(seed=3, count=60)
    rooms = [plan.num_rooms for plan in plans]
    walls = [len(plan.walls) for plan in plans]
    assert min(rooms) >= 6
    assert max(rooms) <= 20
    assert 12 <= np.mean(rooms) <= 14
    assert min(walls) >= 60
    assert max(walls) <= 300
    assert 120 <= np.mean(walls) <= 180
    corners = np.stack([np.ptp(plan.walls.reshape(-1, 2), axis=0) for plan in plans])
    assert corners.min() >= 8.5
    assert corners.max() <= 20.0
    lengths = [np.linalg.norm(plan.walls[:, 1] - plan.walls[:, 0], axis=1).sum() for plan in plans]
    assert 150 <= np.mean(lengths) <= 350


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), low=st.integers(1, 30), more=st.integers(0, 30), area=st.floats(7.0, 40.0))
def test_any_number_of_rooms_can_be_asked_for(seed: int, low: int, more: int, area: float) -> None:
    plan = home(seed, 1, rooms=(low, low + more), room_area=area)
    assert low <= plan.num_rooms <= low + more
    assert len(plan.lights) == plan.num_rooms


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(seed=-1), "seed=-1: expected a whole number of at least 0"),
        (dict(seed=1.5), "seed=1.5: expected a whole number of at least 0"),
        (dict(seed=1, index=-2), "index=-2: expected a whole number of at least 0"),
        (dict(seed=1, rooms=(5, 4)), "rooms=(5, 4): expected fewest and most rooms, 1 to 60, such as (6, 20)"),
        (dict(seed=1, rooms=(0, 4)), "rooms=(0, 4): expected fewest and most rooms, 1 to 60, such as (6, 20)"),
        (dict(seed=1, rooms=7), "rooms=7: expected fewest and most rooms, 1 to 60, such as (6, 20)"),
        (dict(seed=1, room_area=3), "room_area=3: expected 7 to 40 square metres"),
        (dict(seed=1, room_area=float("nan")), "room_area=nan: expected 7 to 40 square metres"),
    ],
)
def test_what_no_home_can_be_drawn_from(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as error:
        home(**arguments)
    assert str(error.value) == message


def test_no_homes_at_all() -> None:
    with pytest.raises(PlanError, match="count=0: expected a whole number of at least 1"):
        homes(1, 0)
