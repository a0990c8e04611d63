"""Walls and cells against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from tests.eyes.plans.plan_oracle import distances
from warpworld.eyes.plans.geometry import Grid, Steps, cells_near, crossings

GRID = Grid(14, 17, 0.3, 0.5, 0.2)


def random_walls(seed: int, count: int = 9) -> np.ndarray:
    """Slanted ones, upright ones and level ones, also on the lines between cells, partly beyond the grid."""
    random = np.random.default_rng(seed)
    walls = random.uniform(-0.5, 4.5, (count, 2, 2))
    walls[::3, 1, 0] = walls[::3, 0, 0] = 0.3 + 0.2 * random.integers(17)
    walls[1::3, 1, 1] = walls[1::3, 0, 1]
    return walls


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("distance", [0.001, 0.116066, 0.35])
def test_cells_near_walls_are_those_with_a_point_near_one(seed: int, distance: float) -> None:
    walls = random_walls(seed, 4)
    near = cells_near(walls, GRID, distance)
    places = np.linspace(0.0, 0.2, 41)
    low = np.stack(np.meshgrid(0.3 + 0.2 * np.arange(17), 0.5 + 0.2 * np.arange(14)), -1)
    points = low[:, :, None, None] + np.stack(np.meshgrid(places, places), -1)
    nearest = distances(points.reshape(-1, 2), walls).reshape(14, 17, -1).min(-1)
    spacing = 0.2 / 40 * np.sqrt(0.5)  # how far a point of a cell is from the nearest sampled one, at most
    assert near[nearest < distance].all()
    assert not near[nearest >= distance + spacing].any()
    assert 0 < near.sum() < near.size


def test_many_and_long_walls_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = random_walls(1, 30)
    at_once = cells_near(walls, GRID, 0.1)
    monkeypatch.setattr("warpworld.eyes.plans.geometry.MOST_PAIRS", 40)
    assert np.array_equal(cells_near(walls, GRID, 0.1), at_once)


def meet(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> bool:
    """Whether two segments share a point."""

    def side(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> float:
        return float(np.sign(np.round((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]), 12)))

    boxes = (np.maximum(a, b) >= np.minimum(c, d) - 1e-9) & (np.maximum(c, d) >= np.minimum(a, b) - 1e-9)
    return bool(boxes.all()) and side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0


@pytest.mark.parametrize("seed", range(6))
def test_steps_are_free_where_no_wall_meets_them(seed: int) -> None:
    walls = random_walls(seed)
    walls[3, :, 0] = 0.3 + 0.2 * 5.5  # through centres of cells
    walls[4, :, 1] = 0.5 + 0.2 * 7.5
    steps = Steps(walls, GRID)
    for free, (di, dj) in ((steps.right, (0, 1)), (steps.up, (1, 0))):
        for i, j in np.ndindex(free.shape):
            here = np.array([0.3 + 0.2 * (j + 0.5), 0.5 + 0.2 * (i + 0.5)])
            there = here + 0.2 * np.array([dj, di])
            assert free[i, j] == (not any(meet(here, there, *wall) for wall in walls)), (i, j, di, dj)


def test_cells_are_reached_around_a_wall_but_not_through_one() -> None:
    barrier = np.array([[[1.1, 0.0], [1.1, 2.5]]])  # ends below the grid's upper edge, 3.3
    start = np.zeros((14, 17), dtype=bool)
    start[0, 0] = True
    assert Steps(barrier, GRID).reached_from(start).all()
    closed = np.array([[[1.1, 0.0], [1.1, 4.0]]])
    reached = Steps(closed, GRID).reached_from(start)
    assert reached[:, :4].all()
    assert not reached[:, 4:].any()


def test_crossing_touching_and_overlapping_walls() -> None:
    walls = np.array(
        [
            [[0, 0], [4, 0]],
            [[2, -1], [2, 1]],  # crosses 0
            [[3, 0], [3, 2]],  # ends in the middle of 0
            [[4, 0], [5, 1]],  # begins at the end of 0
            [[3.5, 0], [6, 0]],  # lies on 0 for half a metre
            [[6, 0], [7, 0]],  # goes on from 4
            [[0, 1e-3], [4, 1e-3]],  # a millimetre beside 0, so it crosses 1 and 2
        ],
        dtype=np.float64,
    )
    crossing, overlapping = crossings(walls)
    assert overlapping.tolist() == [[0, 4]]
    assert crossing.tolist() == [[0, 1], [1, 6], [2, 6]]
