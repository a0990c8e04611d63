"""Homes of the packaged sizes: each keeps to its rules, and a thousand together are a set to share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.cases import often
from tests.eyes.plans.plan_oracle import Walk, distances, flooded, turns
from tests.packaged import packaged
from warpworld.eyes.plans import Plan, PlanSet, generator, home, homes
from warpworld.eyes.plans.constants import CLEARANCE, RADIUS
from warpworld.eyes.plans.generator import Home
from warpworld.eyes.plans.subdivision import UNIT, Rectangle

pytestmark = pytest.mark.slow

COUNT = 1000
WALKED = 20  # of so many homes one is walked through on a fine lattice, apart from the package's geometry


class Furnished(NamedTuple):
    """A home, what was drawn of it, and the boxes that were put into it."""

    plan: Plan
    drawn: Home
    boxes: list[Rectangle]


@pytest.fixture(scope="module", params=often([COUNT // 10], [COUNT // 10, COUNT]))
def furnished(request: pytest.FixtureRequest) -> list[Furnished]:
    """Homes of the packaged sizes, and what ``furniture`` was told and made of each."""
    told: list[tuple[Home, list[Rectangle]]] = []
    plain = generator.furniture

    def watched(random: Any, drawn: Home, inner: int) -> Iterator[Rectangle]:
        told.append((drawn, list(plain(random, drawn, inner))))
        return iter(told[-1][1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "furniture", watched)
        plans = [home(21, index) for index in range(request.param)]
    assert len(told) == request.param
    return [Furnished(plan, *one) for plan, one in zip(plans, told, strict=True)]


def test_every_room_of_every_home_can_be_reached(furnished: list[Furnished]) -> None:
    """From cell to cell, through cells in which a body is nowhere in a wall; and all places to spawn in are reached."""
    for plan, *_ in furnished:
        clear = plan.cells_clear_of_walls(RADIUS)
        start = np.zeros_like(clear)
        start[tuple(np.argwhere(clear)[0])] = True
        reached = flooded(clear, start)
        assert set(plan.rooms[reached].tolist()) == set(range(1, plan.num_rooms + 1)), plan.name
        assert not (plan.cells_clear_of_walls(RADIUS + CLEARANCE) & ~reached).any(), plan.name


def test_some_homes_are_walked_through_apart_from_the_package(furnished: list[Furnished]) -> None:
    """On a lattice of 5 cm, with distances of the tests' own: by a body, and by a disc that just fits through doors."""
    for plan, *_ in furnished[::WALKED]:
        walk = Walk(plan)
        for radius in (RADIUS, 0.37):
            reached = walk.from_room(1, radius)
            assert set(walk.room[reached & (walk.room > 0)]) == set(range(1, plan.num_rooms + 1)), plan.name
        assert not (walk.from_outside(0.03) & (walk.room > 0)).any(), plan.name


def gaps(plan: Plan) -> list[float]:
    """The widths of what is between two ends of inner walls that face each other, up to 1.05 m: corridors are wider."""
    start, end = plan.walls[:, 0].astype(np.float64), plan.walls[:, 1].astype(np.float64)
    along = end - start
    lengths = np.linalg.norm(along, axis=1)
    caps = np.flatnonzero(lengths < 0.21)  # inner walls are 0.1 to 0.2 m thick
    left = np.stack([-along[:, 1], along[:, 0]], axis=1) / lengths[:, None]  # where it is free
    found = []
    for one in caps:
        facing = caps[(np.abs(end[caps] - start[one] - (start[caps] - end[one])) < 1e-4).all(1)]
        for other in facing:
            across = end[other] - start[one]
            width = float(across @ left[one])
            if one < other and 0.0 < width < 1.05 and abs(across @ along[one]) < 1e-4:
                found.append(width)
    return found


def test_doors_are_0_8_to_1_m_wide(furnished: list[Furnished]) -> None:
    """Between their jambs, as far as walls tell; and there are enough of them for every room to have one."""
    widths = []
    for plan, drawn, _ in furnished:
        found = gaps(plan)
        assert len(found) == len(drawn.doors) >= plan.num_rooms - 1, plan.name
        widths += found
    assert min(widths) == pytest.approx(0.8, abs=1e-4)
    assert max(widths) == pytest.approx(1.0, abs=1e-4)


def test_furniture_is_within_its_room_and_out_of_the_way(furnished: list[Furnished]) -> None:
    """Each box in one part of one room that is no corridor, solid in the plan, and not within 0.9 m of a door."""
    count = 0
    for plan, drawn, boxes in furnished:
        ways = [line.strip(low, high, 18, 18) for line, low, high in drawn.doors]
        middles = np.array([[box.x0 + box.x1, box.y0 + box.y1] for box in boxes]).reshape(-1, 2) * UNIT / 2
        assert (turns(middles, plan.walls) == -1).all(), plan.name
        for box in boxes:
            parts = [part for part in drawn.parts if part.overlaps(box)]
            assert len(parts) == 1 and not parts[0].corridor, plan.name
            (part,) = parts
            assert part.x0 <= box.x0 < box.x1 <= part.x1 and part.y0 <= box.y0 < box.y1 <= part.y1, plan.name
            assert not any(box.overlaps(way) for way in ways), plan.name
        count += len(boxes)
    assert count > 3 * len(furnished)


@pytest.mark.exhaustive
def test_a_thousand_plans_are_shared_by_index() -> None:
    """Envs walk in plans of their own choice, which the world has once, in about 30 MB."""
    few, many = (packaged("explorer", n, device="cpu", num_plans=COUNT, res=16) for n in (2, 2000))
    plans = many.environment.params.plan_set
    assert plans.num_plans == COUNT
    assert plans.nbytes == sum(np.asarray(array.initial).nbytes for array in plans.arrays())
    assert 20e6 < plans.nbytes < 50e6
    draws, number = np.random.default_rng(0), many.data.numpy
    for world in (few, many):
        world.reset()
    assert many.data.nbytes - few.data.nbytes < 2000 * 4000  # bytes of an env, most of them its texels' bits
    assert few.data.nbytes > plans.nbytes
    for _ in range(20):
        number("actions")[:] = draws.choice([1, 2, 3, 4, 5, 6], number("actions").shape)
        many.step()
    chosen = number("plan")
    assert chosen.min() >= 0 and chosen.max() < COUNT
    assert len(set(chosen.tolist())) > 0.8 * COUNT
    for env in range(0, 2000, 20):
        walls = plans.plans[chosen[env]].walls
        place = number("positions")[env].astype(np.float64)
        assert distances(place, walls)[0] >= RADIUS - 1e-4
        assert turns(place, walls)[0] == 0
        inside = (place[0] > walls.reshape(-1, 2).min(0)) & (place[0] < walls.reshape(-1, 2).max(0))
        assert inside.all()


def test_a_set_of_homes_is_that_of_the_packaged_sizes(furnished: list[Furnished]) -> None:
    """What these tests draw is what an environment has by default."""
    params: Any = packaged("explorer", 1, device="cpu", num_plans=3, plan_seed=21).environment.params
    for ours, theirs in zip(furnished, params.plan_set.plans, strict=False):
        assert np.array_equal(ours.plan.walls, theirs.walls)
    assert isinstance(params.plan_set, PlanSet)
    assert np.array_equal(homes(21, 1)[0].walls, furnished[0].plan.walls)
