"""The map of rooms of a plan, from the rooms' outlines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpworld.eyes.plans.constants import OUTSIDE, RESOLUTION, WALL
from warpworld.eyes.plans.geometry import TOLERANCE, Grid, Steps, cells_near

MARGIN = 1.0  # metres between a plan's walls and the map's edges, and between them and the axes


def map_around(walls: np.ndarray) -> Grid:
    """The cells of a map from (0, 0) to a margin beyond the walls, (walls, 2, 2) metres."""
    columns, rows = np.ceil((walls.reshape(-1, 2).max(0) + MARGIN) / RESOLUTION - 1e-6).astype(int).tolist()
    return Grid(rows, columns, 0.0, 0.0, RESOLUTION)


def map_of_rooms(outlines: Sequence[np.ndarray], walls: np.ndarray, grid: Grid) -> np.ndarray:
    """Number the cells: -1 where a wall touches a cell, else the room that its middle is in, else 0.

    Args:
        outlines: each room's corners in order, (corners, 2) metres; room 1 is the first. Of rooms that overlap, the
            later one has the cells.
        walls: (walls, 2, 2) float64, metres.
        grid: the cells.

    Returns:
        (rows, columns) int16.
    """
    x, y = (low + grid.resolution * (np.arange(n) + 0.5) for low, n in ((grid.x, grid.columns), (grid.y, grid.rows)))
    middles = np.stack(np.meshgrid(x, y), -1)
    rooms = np.full((grid.rows, grid.columns), OUTSIDE, dtype=np.int16)
    for number, outline in enumerate(outlines, 1):
        rooms[contains(outline, middles)] = number
    rooms[cells_near(walls, grid, TOLERANCE)] = WALL
    return rooms


def contains(outline: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Whether points lie within a polygon, by the even-odd rule.

    Args:
        outline: its corners in order, (corners, 2).
        points: (..., 2).

    Returns:
        (...) bool.
    """
    inside = np.zeros(points.shape[:-1], dtype=bool)
    x, y = points[..., 0], points[..., 1]
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        if y0 != y1:
            inside ^= ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return inside


def connected_rooms(rooms: np.ndarray, walls: np.ndarray, grid: Grid) -> np.ndarray:
    """The largest part of the rooms that steps join, numbered anew; none to which a way leads from outside."""
    # rooms that no way leads into from outside
    ring = np.pad(np.zeros(rooms.shape, dtype=bool), 1, constant_values=True)
    left = (rooms > OUTSIDE) & ~Steps(walls, grid.padded()).reached_from(ring)[1:-1, 1:-1]
    # the largest part that steps join
    steps = Steps(walls, grid)
    largest = np.zeros_like(left)
    while left.any():
        start = np.zeros_like(left)
        start[tuple(np.argwhere(left)[0])] = True
        part = steps.reached_from(start) & left
        left &= ~part
        largest = max(largest, part, key=np.count_nonzero)
    # its rooms, numbered from 1
    numbers = np.zeros(int(rooms.max()) + 1, dtype=np.int16)
    kept = np.unique(rooms[largest])
    numbers[kept] = np.arange(1, len(kept) + 1)
    return np.where(largest, numbers[np.maximum(rooms, 0)], np.minimum(rooms, OUTSIDE))
