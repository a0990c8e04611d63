"""Tic-tac-toe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpworld.environment import Script, register
from warpworld.envs.board.board import CELL_KEYS, CELLS, BoardGame
from warpworld.envs.board.perfect import best_moves


@register("tic_tac_toe")
class TicTacToe(BoardGame):
    """Two players mark nine cells by turns; three in a line win 1 and lose the other 1.

    Actions: the cell, row by row. A full board is a draw; a mark on a cell that has one ends the game and costs its
    player 1.
    """

    source = "tic_tac_toe.cu"
    board = (3, 3)
    choices = 9
    choice_names, choice_keys = CELLS, CELL_KEYS

    def scripts(self) -> Mapping[str, Script]:
        """perfect: never loses; of moves that are equally good chance chooses."""
        return {"perfect": "perfect"}

    def constants(self) -> Mapping[str, Any]:
        """The moves that the script chooses from, by position."""
        return {"BEST_MOVES": best_moves()}
