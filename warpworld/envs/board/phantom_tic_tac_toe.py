"""Phantom tic-tac-toe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Discs, Drawing
from warpworld.environment import Array, Group, register
from warpworld.envs.board.board import CELL_KEYS, CELLS, PLAYERS, BoardGame


@register("phantom_tic_tac_toe")
class PhantomTicTacToe(BoardGame):
    """Tic-tac-toe in which players do not see each other's marks; a player who tries a marked cell tries again.

    Source: OpenSpiel's ``phantom_ttt``. Actions: the cell, row by row. A try of a cell with the other's mark shows it,
    and the player tries another cell in the next step. A cell that it has tried before ends the game and costs it 1.
    Observations hold all that a player has learnt, in order: a plane for each of its tries, then the marks that it has
    run into. It does not see how often the other tried.
    """

    source = "phantom_tic_tac_toe.cu"
    board = (3, 3)
    choices = 9
    choice_names, choice_keys = CELLS, CELL_KEYS

    def groups(self) -> Sequence[Group]:
        """The first and the second player, who see their own tries."""
        seen, moves = MultiBinary((self.choices + 1, *self.board)), Discrete(self.choices)
        return [self._player(player, seen, moves) for player in PLAYERS]

    def arrays(self) -> Sequence[Array]:
        """The board, whose turn it is, and both players' tries."""
        tries = Array("tries", "uint8", self.board, bounds=(0, self.choices), doc="number of the try of a cell, 0 none")
        return [*super().arrays(), tries]

    def draw_for(self, arrays: Mapping[str, np.ndarray], agent: int) -> Drawing:
        """Draw the board without marks that the player has not run into, until the game is over."""
        known = (arrays["tries"][agent] > 0) | bool(arrays["terminated"])
        own = np.arange(2)[:, None, None] == agent
        return self.draw({**arrays, "cells": arrays["cells"] * known, "tries": arrays["tries"] * own})

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The board with all marks; a ring around one that the other player has run into."""
        plain, cells = super().draw(arrays), arrays["cells"]
        found = [np.nonzero((arrays["tries"][player] > 0) & (cells == 2 - player)) for player in range(2)]
        rings = [
            Discs(x + 0.5, y + 0.5, 0.45, fill=None, outline=player, line_width=0.05)
            for player, (y, x) in zip(PLAYERS, found, strict=True)
        ]
        return Drawing(plain.view, [*plain.marks, *rings], seconds=plain.seconds, choices=plain.choices)
