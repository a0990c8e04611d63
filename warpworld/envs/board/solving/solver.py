"""Exact values of positions of connect four."""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from pathlib import Path

import numpy as np

from warpworld.managers.cpu import NativeLibrary

SOURCE = Path(__file__).resolve().parent / "solver.cpp"
LINE = 4
BITS = 56  # of a board, its uppermost empty row included: as many as the table of the search keeps
NO_MOVE = -128  # in place of the score of a move onto a full column
_POINTER, _INT64, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int


class Solver:
    """A search for the exact values of positions, with the table that it fills.

    Positions are arrays (n, rows, columns) of 0 for an empty cell, 1 and 2 for stones of the first and the second
    player, the top row first. The number of stones gives the player to move. No position has been won yet.

    A score is 0 for a draw. Of a player who wins it is the number of stones, the winning one included, that the player
    has left at the end; of one who loses, the winner's as a negative number (Pons: "Solving Connect Four",
    blog.gamesolver.org, part 2). Calls from one thread at a time.

    Args:
        rows: of the board.
        columns: likewise; ``(rows + 1) * columns`` is at most 56.

    Raises:
        ValueError: the board is larger.
        BuildError: the C++ does not compile here.
    """

    def __init__(self, rows: int = 6, columns: int = 7) -> None:
        if min(rows, columns) < 1 or (rows + 1) * columns > BITS:
            raise ValueError(f"board of {rows} x {columns}: expected (rows + 1) * columns from 2 to {BITS}")
        self.board = rows, columns
        library = _library()
        solver = library.function("four_open", _INT, _INT, returns=_POINTER)(rows, columns)
        close = library.function("four_close", _POINTER)
        self._scores = library.function("four_scores", _POINTER, _POINTER, _POINTER, _INT64, _INT, _POINTER)
        self._solver = solver
        weakref.finalize(self, close, solver)

    def scores(self, cells: np.ndarray, most: int = BITS) -> np.ndarray:
        """(n,) int64: scores of the players to move; with ``most`` the nearest numbers to them from -most to most.

        ``most=1`` gives who wins: 1, 0 or -1. It takes less time.
        """
        own, mask = self._bits(cells)
        scores = np.empty(len(own), np.int64)
        self._scores(self._solver, own.ctypes.data, mask.ctypes.data, len(own), most, scores.ctypes.data)
        return scores

    def move_scores(self, cells: np.ndarray, most: int = BITS) -> np.ndarray:
        """(n, columns) int64: scores of each move to its player, as of ``scores``; NO_MOVE on a full column."""
        rows, columns = self.board
        found = np.full((len(cells), columns), NO_MOVE, np.int64)
        positions, moves = np.nonzero(cells[:, 0] == 0)
        following = dropped(cells[positions], moves)
        stones = np.count_nonzero(cells[positions], axis=(1, 2))
        is_won = wins(following)
        scores = np.minimum((rows * columns + 1 - stones) // 2, most)
        scores[~is_won] = -self.scores(following[~is_won], most)
        found[positions, moves] = scores
        return found

    def _bits(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) uint64 twice: the stones of the player to move, and all."""
        rows, columns = self.board
        places = np.uint64(1) << (
            np.arange(columns, dtype=np.uint64) * np.uint64(rows + 1) + np.arange(rows, dtype=np.uint64)[::-1, None]
        )
        mover = 1 + np.count_nonzero(cells, axis=(1, 2)) % 2
        own = (places * (cells == mover[:, None, None])).sum((1, 2), dtype=np.uint64)
        return own, (places * (cells != 0)).sum((1, 2), dtype=np.uint64)


@cache
def _library() -> NativeLibrary:
    return NativeLibrary(SOURCE)


def dropped(cells: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Positions, as of ``Solver``, after the player to move has dropped a stone into a column that is not full."""
    found, each = cells.copy(), np.arange(len(cells))
    rows = np.count_nonzero(cells[each, :, columns] == 0, axis=1) - 1
    found[each, rows, columns] = 1 + np.count_nonzero(cells, axis=(1, 2)) % 2
    return found


def wins(cells: np.ndarray) -> np.ndarray:
    """(n,) bool: whether the player who moved last has four stones in a line."""
    last = 2 - np.count_nonzero(cells, axis=(1, 2)) % 2
    own = cells == last[:, None, None]
    rows, columns = own.shape[1:]
    found = np.zeros(len(own), bool)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        height, width = rows - down * (LINE - 1), columns - abs(right) * (LINE - 1)
        if min(height, width) < 1:
            continue
        start = (LINE - 1) if right < 0 else 0
        parts = [own[:, down * k :, start + right * k :][:, :height, :width] for k in range(LINE)]
        found |= np.logical_and.reduce(parts).any((1, 2))
    return found
