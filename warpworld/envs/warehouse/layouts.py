"""Floors of warehouses: the named ones, and those that a text file draws.

A file has a line for each row: ``X`` or ``x`` for a cell on which a shelf stands at first, ``.`` for a corridor and
``G`` or ``g`` for a goal, as in rware. Spaces count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpworld.envs.layouts import is_file, read_rows
from warpworld.errors import DeclarationError

NAMED = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}  # rows and columns of blocks of shelves
OUTSIDE, STORAGE, CORRIDOR = 0, 1, 2  # what a cell is to kernels


@dataclass(frozen=True)
class Floor:
    """Cells and goals of a floor, before anything moves.

    Attributes:
        cells: (height, width) uint8: STORAGE or CORRIDOR; a goal is a corridor.
        goals: (goals, 2) row and column of each, in the order in which deliveries count.
    """

    cells: np.ndarray
    goals: np.ndarray

    @property
    def shelves(self) -> np.ndarray:
        """(shelves, 2) row and column of the cell on which each stands at first, row by row."""
        return np.argwhere(self.cells == STORAGE)


def floor_of(layout: str, column_height: int) -> Floor:
    """The floor with a name, or that of a file.

    Args:
        layout: one of ``NAMED``, or the path of a text file.
        column_height: of a block of shelves, of the named ones.

    Raises:
        DeclarationError: there is no such layout, or the file draws none; with the line.
    """
    return read_floor(layout) if is_file(layout, NAMED) else _floor(*NAMED[layout], column_height)


def read_floor(path: str) -> Floor:
    """The floor that a text file draws.

    Raises:
        DeclarationError: names the file, the line, and what is wrong there.
    """
    rows = read_rows(path, "Xx.Gg", "X, . or G", ignored=" ")
    letters = np.array([list(cells.lower()) for _, cells in rows])
    floor = Floor(np.where(letters == "x", STORAGE, CORRIDOR).astype(np.uint8), np.argwhere(letters == "g"))
    for letter, found, meaning in (("G", floor.goals, "goal"), ("X", floor.shelves, "shelf")):
        if len(found) == 0:
            raise DeclarationError(f"{path}: no {meaning}, expected {letter} in at least one cell")
    return floor


def _floor(block_rows: int, block_columns: int, column_height: int) -> Floor:
    """Blocks of shelves two wide with corridors around them, and two goals in the middle of the last row.

    The lowest block of the middle column is left out, so that robots can queue before the goals.
    """
    height, width = (column_height + 1) * block_rows + 2, 3 * block_columns + 1
    rows, columns = np.indices((height, width))
    middle = (columns == width // 2 - 1) | (columns == width // 2)
    is_corridor = (columns % 3 == 0) | (rows % (column_height + 1) == 0) | (rows == height - 1)
    is_corridor |= middle & (rows > height - (column_height + 3))
    goals = np.array([(height - 1, width // 2 - 1), (height - 1, width // 2)])
    return Floor(np.where(is_corridor, CORRIDOR, STORAGE).astype(np.uint8), goals)
