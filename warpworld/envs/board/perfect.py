"""Every position of tic-tac-toe solved: which moves a player who makes no mistake may choose."""

from __future__ import annotations

import functools

import numpy as np

NUM_CELLS = 9
NUM_POSITIONS = 3**NUM_CELLS
WEIGHTS = 3 ** np.arange(NUM_CELLS)  # a position's number has a digit for each cell: 0 empty, 1 and 2 players' marks
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@functools.cache
def best_moves() -> np.ndarray:
    """(positions,) uint16: a bit for each cell in which a mark keeps the best result of who moves next.

    Positions that are won or full have none.
    """
    cells = np.arange(NUM_POSITIONS)[:, None] // WEIGHTS % 3
    marks, lines = (cells > 0).sum(1), cells[:, LINES]
    won = ((lines == lines[..., :1]) & (lines > 0)).all(-1).any(-1)
    values = np.where(won, -1, 0)  # to who moves next: 1 wins, 0 draws, -1 loses
    best = np.zeros(NUM_POSITIONS, np.uint16)
    for moved in reversed(range(NUM_CELLS)):  # each position follows those with more marks
        at = np.flatnonzero((marks == moved) & ~won)
        empty, after = cells[at] == 0, at[:, None] + (1 + moved % 2) * WEIGHTS
        of_moves = np.where(empty, -values[np.where(empty, after, 0)], -2)
        values[at] = of_moves.max(1)
        best[at] = (of_moves == values[at, None]) @ (1 << np.arange(NUM_CELLS))
    return best
