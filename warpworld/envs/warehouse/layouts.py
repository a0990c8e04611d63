"""Floors of warehouses: the named ones, and those that a text file draws.

A file has a line for each row: ``X`` or ``x`` for a cell on which a shelf stands at first, ``.`` for a corridor and
``G`` or ``g`` for a goal, as in rware. Spaces count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpworld.environment.environment import names_file
from warpworld.errors import DeclarationError, suggest

NAMED = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}  # rows and columns of blocks of shelves
OUTSIDE, STORAGE, CORRIDOR = 0, 1, 2  # what a cell is to kernels


@dataclass(frozen=True)
class Floor:
    """What stands where before anything moves.

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
    if layout in NAMED:
        return _floor(*NAMED[layout], column_height)
    if names_file(layout):
        return read_floor(Path(layout))
    known = ", ".join(NAMED)
    raise DeclarationError(f"layout={layout!r}: expected {known}, or the path of a text file.{suggest(layout, NAMED)}")


def read_floor(path: Path) -> Floor:
    """The floor that a text file draws.

    Raises:
        DeclarationError: names the file, the line, and what is wrong there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DeclarationError(f"layout={str(path)!r}: the file cannot be read: {reason}") from error
    rows = [(number, line.replace(" ", "")) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not rows:
        raise DeclarationError(f"{path}: the file is empty, expected a line of X, . and G for each row")
    first, width = rows[0][0], len(rows[0][1])
    for number, line in rows:
        for column, letter in enumerate(line, 1):
            if letter.lower() not in "xg.":
                raise DeclarationError(f"{path}:{number}: cell {column} is {letter!r}, expected X, . or G")
        if len(line) != width:
            raise DeclarationError(f"{path}:{number}: {len(line)} cells, expected {width} as in line {first}")
    letters = np.array([list(line.lower()) for _, line in rows])
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
