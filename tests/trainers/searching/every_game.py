"""All games of tic-tac-toe that a player without chance can get into."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpworld.environment import Probabilities
from warpworld.envs.board.perfect import LINES

SIDES = ("first", "second")


def losses(players: Mapping[str, Probabilities]) -> dict[str, int]:
    """Number of different ends in which each side loses, against any replies; it takes its likeliest moves."""
    return {side: _losses(k, players[side]) for k, side in enumerate(SIDES)}


def _losses(side: int, player: Probabilities) -> int:
    level, lost = {(0,) * 9}, 0
    for ply in range(9):
        is_own, cells = ply % 2 == side, np.array(sorted(level), np.uint8).reshape(-1, 9)
        moves = (
            _likeliest(side, player, cells) if is_own and len(cells) else [np.flatnonzero(row == 0) for row in cells]
        )
        level = set()
        for row, options in zip(cells, moves, strict=True):
            for move in options:
                after = row.copy()
                after[move] = 1 + ply % 2
                if any(after[a] == after[b] == after[c] != 0 for a, b, c in LINES):
                    lost += not is_own
                else:
                    level.add(tuple(int(cell) for cell in after))
    return lost


def _likeliest(side: int, player: Probabilities, cells: np.ndarray) -> list[list[int]]:
    seen = np.stack((cells == side + 1, cells == 2 - side), 1).reshape(-1, 2, 3, 3)
    return [[int(move)] for move in player(seen, cells == 0).argmax(1)]
