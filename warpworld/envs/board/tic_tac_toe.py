"""Tic-tac-toe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warpworld.environment import Group, Script, register
from warpworld.envs.board.board import BoardGame
from warpworld.envs.board.perfect import WEIGHTS, best_moves

if TYPE_CHECKING:
    import torch

SHARPNESS = 50.0  # of a script's logits: a move that is not among the best is drawn once in e^50 times


@register("tic_tac_toe")
class TicTacToe(BoardGame):
    """Two players mark nine cells by turns; three in a line win 1 and lose the other 1.

    Actions: the cell, row by row. A full board is a draw; a mark on a cell that has one ends the game and costs its
    player 1.
    """

    source = "tic_tac_toe.cu"
    board = (3, 3)
    choices = 9

    def scripts(self) -> Mapping[str, Script]:
        """perfect: never loses; of moves that are equally good chance chooses."""
        return {"perfect": self._perfect}

    def _perfect(self, arrays: Any, group: Group) -> torch.Tensor:
        """Logits (num_envs, 1, 9)."""
        import torch

        cells = arrays["cells"]
        position = (cells.flatten(1) * torch.as_tensor(WEIGHTS, device=cells.device)).sum(1)
        return SHARPNESS * best_moves(cells.device)[position][:, None].float()
