"""A floor plan: walls, lights, and a map of its rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpworld.errors import PlanError
from warpworld.eyes.plans.checks import check_plan
from warpworld.eyes.plans.constants import OUTSIDE, RESOLUTION
from warpworld.eyes.plans.geometry import Grid, cells_near


@dataclass(frozen=True, eq=False)
class Plan:
    """A floor plan; it is immutable, and checked when it is made.

    Coordinates are metres, x to the right and y up, none below 0. Walls are lines of no thickness, seen from both
    sides; a thick wall is its outline, ordered so that the free space lies to the left. Walls may touch, and one may
    end in the middle of another, but they may not cross.

    Attributes:
        name: its name in reports.
        walls: (walls, 2, 2) float32, the two ends of each.
        lights: (lights, 3) float32: x, y, intensity.
        rooms: (rows, columns) int16, row 0 at the bottom: -1 in a wall, 0 outside, else the number of a room. Cell
            (i, j) covers [j, j + 1] x [i, i + 1] times ``resolution``, from ``origin``.
        resolution: side of a cell, metres.
        origin: (2,) float32, the lowest corner of cell (0, 0).

    Raises:
        PlanError: it is impossible; walls and lights are named by their number, the first being 0.
    """

    name: str
    walls: np.ndarray
    lights: np.ndarray
    rooms: np.ndarray
    resolution: float = RESOLUTION
    origin: Any = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._set("walls", np.float32, (None, 2, 2))
        self._set("lights", np.float32, (None, 3))
        self._set("rooms", np.int16, (None, None))
        self._set("origin", np.float32, (2,))
        check_plan(self)

    def _set(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> None:
        given = getattr(self, name)
        # numbers in the dtype
        try:
            value = np.asarray(given)
            if value.size == 0 and shape[0] is None and name != "rooms":
                value = np.zeros([0 if length is None else length for length in shape])
            with np.errstate(over="ignore"):  # what float32 cannot hold is infinite, which the check reports
                array: np.ndarray = value.astype(dtype)
            exact = dtype is not np.int16 or bool((array == value).all())
        except (TypeError, ValueError):
            raise PlanError(f"plan '{self.name}': {name} holds something that is not a number") from None
        # their shape, and what the dtype has changed
        if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            wanted = ", ".join("*" if length is None else str(length) for length in shape)
            raise PlanError(f"plan '{self.name}': {name} has shape {array.shape}, expected ({wanted})")
        if not exact:
            raise PlanError(f"plan '{self.name}': rooms holds what is not a whole number of -32768 to 32767")
        # an array that stays as it is
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    @property
    def grid(self) -> Grid:
        """The cells of the map of rooms."""
        rows, columns = self.rooms.shape
        return Grid(rows, columns, float(self.origin[0]), float(self.origin[1]), float(self.resolution))

    @property
    def num_rooms(self) -> int:
        """Number of different rooms that the map shows."""
        return len(np.unique(self.rooms[self.rooms > OUTSIDE]))

    def cells_clear_of_walls(self, distance: float) -> np.ndarray:
        """Cells of rooms of which every point is at least so many metres away from every wall.

        Returns:
            (rows, columns) bool.
        """
        return (self.rooms > OUTSIDE) & ~cells_near(self.walls.astype(np.float64), self.grid, distance)

    def centres(self, cells: np.ndarray) -> np.ndarray:
        """Middles of cells, (cells, 2) float64 metres; ``cells`` are (row, column), shape (cells, 2)."""
        return self.origin + (np.asarray(cells)[:, ::-1] + 0.5) * self.resolution
