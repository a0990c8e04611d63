"""Fields of shortest ways beside Dijkstra's on a finer grid in float64, and what no way leads through."""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import pytest

from tests.eyes.arenas import distances
from warpworld.eyes.plans import NO_WAY, WAY_CELL, WAY_UNIT, Plan, PlanSet, column, find_ways, homes

FINE, CLEAR = 0.1, 0.12  # metres
STEPS = [(r, c) for r, c in itertools.product(range(-2, 3), repeat=2) if math.gcd(r, c) == 1]  # within 3 %


def fine_ways(plan: Plan, goal: np.ndarray) -> np.ndarray:
    """Metres to a place from the middles of the cells of a fine grid over a plan; infinite where none leads."""
    walls = plan.walls.reshape(-1, 4).astype(np.float64)
    columns, rows = np.ceil(walls.reshape(-1, 2).max(0) / FINE).astype(int) + 1
    middles = FINE * (np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1) + 0.5)
    is_open = distances(walls, middles).min(-1) >= CLEAR
    found = np.full((rows, columns), np.inf)
    straight = np.linalg.norm(middles - goal, axis=-1)
    queue = [(straight[r, c], (r, c)) for r, c in np.argwhere(is_open & (straight < 0.226)).tolist()]
    heapq.heapify(queue)
    while queue:
        metres, (row, col) = heapq.heappop(queue)
        if metres >= found[row, col]:
            continue
        found[row, col] = metres
        for down, right in STEPS:
            r, c = row + down, col + right
            if 0 <= r < rows and 0 <= c < columns and is_open[r, c] and np.isinf(found[r, c]):
                heapq.heappush(queue, (metres + FINE * math.hypot(down, right), (r, c)))
    return found


@pytest.mark.long
@pytest.mark.parametrize("plan", [column(), *homes(3, 2, (2, 3))], ids=["column", "home", "another"])
def test_ways_are_as_short_as_those_of_a_finer_grid(plan: Plan) -> None:
    found = find_ways(PlanSet([plan]), 2, seed=5)
    first, columns, rows, cells = found["plan_ways"][0].tolist()
    assert (first, cells) == (0, columns * rows)
    for number, goal in enumerate(found["way_places"].astype(np.float64)):
        field = found["way_fields"][number * cells :][:cells].reshape(rows, columns)
        expected = fine_ways(plan, goal)
        # cells of 0.2 m have their middle at the corner of four cells of 0.1 m
        at = np.argwhere((field != NO_WAY) & (field > 0.5 / WAY_UNIT))
        near = np.stack([expected[2 * at[:, 0] + i, 2 * at[:, 1] + j] for i in (0, 1) for j in (0, 1)])
        reachable = np.isfinite(near).all(0)
        ratio = WAY_UNIT * field[tuple(at.T)][reachable] / near.mean(0)[reachable]
        assert reachable.mean() > 0.7
        assert ratio.min() > 0.96 and ratio.max() < 1.12
        assert 0.98 < np.median(ratio) < 1.02
        assert np.quantile(ratio, 0.95) < 1.08


def test_no_way_leads_through_a_wall_of_no_thickness() -> None:
    """A room of 4 m with a wall across: places of each half have ways from that half alone."""
    corners = np.array([[1.0, 1.0], [5.0, 1.0], [5.0, 5.0], [1.0, 5.0]])
    across = [[[1.0, 3.0], [5.0, 3.05]]]
    walls = np.concatenate([np.stack([corners, np.roll(corners, -1, 0)], 1), across])
    rooms = np.zeros((30, 30), dtype=int)
    rooms[5:25, 5:25] = -1
    rooms[6:14, 6:24], rooms[17:24, 6:24] = 1, 2
    found = find_ways(PlanSet([Plan("halves", walls, [[3.0, 2.0, 1.0]], rooms)]), 8, seed=1)
    _, columns, rows, cells = found["plan_ways"][0].tolist()
    middles = WAY_CELL * (np.arange(rows) + 0.5)
    halves = set()
    for number, goal in enumerate(found["way_places"]):
        field = found["way_fields"][number * cells :][:cells].reshape(rows, columns)
        below = (field != NO_WAY)[middles < 2.9].any(), (field != NO_WAY)[middles > 3.1].any()
        assert below == (goal[1] < 3.0, goal[1] > 3.0)
        halves.add(bool(goal[1] < 3.0))
    assert halves == {True, False}


def test_places_of_a_plan_do_not_depend_on_the_others() -> None:
    plans = homes(7, 3, (2, 4))
    few, many = (find_ways(PlanSet(plans[:count]), 4, seed=2)["way_places"] for count in (2, 3))
    assert np.array_equal(few, many[:8])
    assert not np.array_equal(few, find_ways(PlanSet(plans[:2]), 4, seed=3)["way_places"])
