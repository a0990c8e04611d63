"""What the tests of plans measure by: slow, float64, and written apart from the package."""

from __future__ import annotations

from collections import deque

import numpy as np

from warpworld.eyes.plans import Plan


def distances(points: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """Distance of each point (n, 2) from the nearest of walls (m, 2, 2)."""
    nearest = np.full(len(points), np.inf)
    for a, b in walls.astype(np.float64):
        along = b - a
        t = np.clip((points - a) @ along / (along @ along), 0, 1)
        nearest = np.minimum(nearest, np.linalg.norm(points - a - t[:, None] * along, axis=1))
    return nearest


def flooded(free: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Cells that can be walked to from ``start`` over free cells, up, down, left and right."""
    reached = start & free
    queue = deque(map(tuple, np.argwhere(reached)))
    while queue:
        row, column = queue.popleft()
        for i, j in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= i < free.shape[0] and 0 <= j < free.shape[1] and free[i, j] and not reached[i, j]:
                reached[i, j] = True
                queue.append((i, j))
    return reached


class Walk:
    """Where discs can be, on a lattice of 5 cm.

    Attributes:
        points: (rows, columns, 2) metres.
        clearance: (rows, columns): distance from the nearest wall.
        room: (rows, columns): what the plan's map says of the place.
    """

    def __init__(self, plan: Plan, step: float = 0.05) -> None:
        rows, columns = plan.rooms.shape
        x = plan.origin[0] + np.arange(step / 2, columns * plan.resolution, step)
        y = plan.origin[1] + np.arange(step / 2, rows * plan.resolution, step)
        self.points = np.stack(np.meshgrid(x, y), -1)
        shape = self.points.shape[:2]
        self.clearance = distances(self.points.reshape(-1, 2), plan.walls).reshape(shape)
        column, row = ((self.points - plan.origin) // plan.resolution).astype(int).reshape(-1, 2).T
        self.room = plan.rooms[row, column].reshape(shape)

    def from_outside(self, radius: float) -> np.ndarray:
        """Where discs that come from outside can be."""
        edge = np.ones(self.room.shape, dtype=bool)
        edge[1:-1, 1:-1] = False
        return flooded(self.clearance >= radius, edge)

    def from_room(self, room: int, radius: float) -> np.ndarray:
        """Where discs that start in a room can be."""
        free = self.clearance >= radius
        start = np.zeros(free.shape, dtype=bool)
        start[tuple(np.argwhere(free & (self.room == room))[0])] = True
        return flooded(free, start)


def turns(points: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """How often closed outlines go round each point, counter-clockwise: 0 or more where it is free, -1 in a slab."""
    total = np.zeros(len(points))
    for a, b in walls.astype(np.float64):
        first, second = a - points, b - points
        cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
        total += np.arctan2(cross, (first * second).sum(1))
    return np.round(total / (2 * np.pi)).astype(int)
