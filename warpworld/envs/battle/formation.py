"""Formation of two armies at the start: blocks beside the middle, with a cell between soldiers if they fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from warpworld.errors import DeclarationError

GAP = 3  # columns between the middle and an army, as in MAgent2


@dataclass(frozen=True)
class Formation:
    """Cells in which the soldiers of both armies start.

    Attributes:
        places: (soldiers of both armies, 2) int64, column and row, red first; the lowest row is 1.
        slack: rows by which an army may be moved down.
    """

    places: np.ndarray
    slack: int


def form(army_size: int, map_size: int) -> Formation:
    """The widest formation that fits.

    Raises:
        DeclarationError: none does.
    """
    height, width = map_size - 2, map_size // 2 - GAP
    square = math.isqrt(army_size - 1) + 1
    for spacing, rows in ((2, square), (1, min(square, height)), (1, height)):
        columns = math.ceil(army_size / rows)
        if (rows - 1) * spacing < height and (columns - 1) * spacing < width:
            return _block(army_size, map_size, rows, spacing)
    raise DeclarationError(
        f"army_size={army_size}: at most {height * width} soldiers fit their side of a map of map_size={map_size}"
    )


def _block(army_size: int, map_size: int, rows: int, spacing: int) -> Formation:
    column, row = np.divmod(np.arange(army_size), rows)
    x, y = map_size // 2 - GAP - spacing * column, 1 + spacing * row
    red, blue = np.stack([x, y], 1), np.stack([map_size - 1 - x, y], 1)
    return Formation(np.concatenate([red, blue]), map_size - 2 - int(y.max()))
