"""Rules for games on a board: a player who looks one move ahead."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Group

ROWS, COLUMNS, LENGTH = 6, 7, 4
WIN, BLOCK = 100.0, 50.0  # against those and the way to the middle


def one_move_ahead(arrays: Any, group: Group) -> Tensor:
    """Connect four: wins if it can, else takes the column where the other would win, else one near the middle."""
    cells = arrays["cells"].long()
    own = 1 if group.name == "first" else 2
    landed = [_landed(cells, column) for column in range(COLUMNS)]
    wins, blocks = (
        torch.stack([_has_line((cells == player) | stone) for stone in landed], -1) for player in (own, 3 - own)
    )
    away = (torch.arange(COLUMNS, device=cells.device) - COLUMNS // 2).abs()
    return (WIN * wins.float() + BLOCK * blocks.float() - 5.0 * away)[:, None].float()


def _landed(cells: Tensor, column: int) -> Tensor:
    """(envs, rows, columns) bool: where a stone comes to lie; nowhere in a full column. The top row is the first."""
    free = (cells[:, :, column] == 0).sum(1)
    stone = torch.zeros_like(cells, dtype=torch.bool)
    has_room = free > 0
    stone[has_room, free[has_room] - 1, column] = True
    return stone


def _has_line(stones: Tensor) -> Tensor:
    """(envs,) bool: whether four lie in a line."""
    found = torch.zeros(len(stones), dtype=torch.bool, device=stones.device)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        line = stones
        for k in range(1, LENGTH):
            line = line & torch.roll(stones, (-k * down, -k * right), (1, 2))
        inside = line[:, : ROWS - (LENGTH - 1) * down]
        inside = inside[:, :, : COLUMNS - 3] if right > 0 else inside[:, :, 3:] if right < 0 else inside
        found |= inside.flatten(1).any(1)
    return found
