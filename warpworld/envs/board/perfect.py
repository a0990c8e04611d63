"""Every position of tic-tac-toe solved: which moves a player who makes no mistake may choose."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

NUM_CELLS = 9
WEIGHTS = 3 ** np.arange(NUM_CELLS)  # a position's number has a digit for each cell
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

Cells = tuple[int, ...]  # 0 empty, 1 and 2 the players' marks


@functools.cache
def best_moves(device: torch.device) -> torch.Tensor:
    """(positions, cells) bool on a device: the moves that keep the best result, in a position's row.

    Positions that no game reaches have none.
    """
    import torch

    best = np.zeros((3**NUM_CELLS, NUM_CELLS), bool)
    seen = {(0,) * NUM_CELLS}
    waiting = list(seen)
    while waiting:
        cells = waiting.pop()
        values = _move_values(cells)
        best[WEIGHTS @ cells, [move for move, value in values.items() if value == max(values.values())]] = True
        following = {_after(cells, move) for move in values} - seen
        seen |= following
        waiting += following
    return torch.from_numpy(best).to(device)


def _move_values(cells: Cells) -> dict[int, int]:
    """The value of each legal move to its player: 1 wins, 0 draws, -1 loses."""
    if _is_won(cells):
        return {}
    return {move: -_value(_after(cells, move)) for move in range(NUM_CELLS) if cells[move] == 0}


@functools.cache
def _value(cells: Cells) -> int:
    """The value of a position to the player who moves next."""
    if _is_won(cells):
        return -1
    return max(_move_values(cells).values(), default=0)


def _is_won(cells: Cells) -> bool:
    return any(cells[a] == cells[b] == cells[c] != 0 for a, b, c in LINES)


def _after(cells: Cells, move: int) -> Cells:
    player = 1 + sum(cell != 0 for cell in cells) % 2
    return (*cells[:move], player, *cells[move + 1 :])
