"""The outlines of solid cells, as walls."""

from __future__ import annotations

import numpy as np


def outlines(solid: np.ndarray) -> np.ndarray:
    """The straight edges between solid and free cells, each as long as it goes.

    They are closed loops, walked so that the free cells lie to the left: counter-clockwise around a free area,
    clockwise around a solid one.

    Args:
        solid: (rows, columns) bool; what is beyond the edges is free.

    Returns:
        (edges, 2, 2) int64: the ends (x, y), cell (i, j) being [j, j + 1] x [i, i + 1]. Level edges come first, from
        the lowest up, then upright ones from left to right.
    """
    level = _level_edges(solid)
    upright = _level_edges(solid.T)[:, ::-1, ::-1]  # mirrored at the diagonal, which also turns left into right
    return np.concatenate([level, upright])


def _level_edges(solid: np.ndarray) -> np.ndarray:
    padded = np.pad(solid, 1).view(np.int8)
    change = padded[1:] - padded[:-1]  # between the rows: 1 where the upper cell is solid, -1 where the lower one is
    before, behind = change[:, :-1], change[:, 1:]
    turns = before != behind
    width = turns.shape[1]
    first, last = np.flatnonzero(turns & (behind != 0)), np.flatnonzero(turns & (before != 0))  # of runs of one value
    row, x0 = np.divmod(first, width)
    x1 = last % width
    # Free below: walk to the left. Free above: walk to the right.
    to_left = behind[row, x0] > 0
    return np.stack([np.where(to_left, x1, x0), row, np.where(to_left, x0, x1), row], -1).reshape(-1, 2, 2)
