"""Base of games on a board: two players who take turns by action masks, and the picture of the board.

Source: the "classic" games of PettingZoo (Terry et al.: "PettingZoo: Gym for Multi-Agent Reinforcement Learning",
2021), whose masks, ends and rewards these have. Observations are flags of (2, rows, columns), where PettingZoo's are of
(rows, columns, 2). A step is one player's move; the other's action is ignored, and its mask allows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Discs, Drawing, Rectangles, Segments
from warpworld.environment import Array, Environment, Group

PLAYERS = ("first", "second")
CELLS = (*("top left", "top", "top right"), *("left", "middle", "right"), *("bottom left", "bottom", "bottom right"))
CELL_KEYS = tuple("789456123")  # of the nine cells, as they lie on a keypad


class BoardGame(Environment):
    """A game in which two players put stones on a board by turns.

    Attributes:
        board: rows and columns.
        choices: of a move.
        choice_names: of a player.
        choice_keys: that stand for them.
    """

    board: ClassVar[tuple[int, int]]
    choices: ClassVar[int]
    choice_names: ClassVar[tuple[str, ...]]
    choice_keys: ClassVar[tuple[str, ...]]

    def groups(self) -> Sequence[Group]:
        """The first and the second player, who see their own stones and the other's."""
        seen, moves = MultiBinary((2, *self.board)), Discrete(self.choices)
        return [self._player(player, seen, moves) for player in PLAYERS]

    def _player(self, name: str, seen: MultiBinary, moves: Discrete) -> Group:
        """A player, whose moves have names and keys."""
        return Group(name, 1, seen, moves, action_names=self.choice_names, action_keys=self.choice_keys)

    def places_of_choices(self) -> np.ndarray:
        """(choices, 4) left, bottom, right and top of each choice's place in the picture: the cells, row by row."""
        y, x = np.divmod(np.arange(self.choices), self.board[1])
        return np.stack([x, y, x + 1, y + 1], axis=1)

    def arrays(self) -> Sequence[Array]:
        """The board, and whose turn it is."""
        return [
            Array("cells", "uint8", self.board, per="env", bounds=(0, 2), doc="0 empty, 1 and 2 the players' stones"),
            Array("to_move", "int32", per="env", bounds=(0, 1), doc="0 the first player moves next, 1 the second"),
        ]

    def state_of(self, group: str, observations: Any) -> Mapping[str, np.ndarray]:
        """The board, and that it is the group's turn."""
        player, (own, others) = PLAYERS.index(group), np.moveaxis(np.asarray(observations, np.uint8), 1, 0)
        cells = own * np.uint8(player + 1) + others * np.uint8(2 - player)
        return {"cells": cells, "to_move": np.full(len(cells), player, np.int32)}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The board, the top row above, with a disc for each stone in its player's colour."""
        rows, columns = self.board
        across, down = np.arange(columns + 1), np.arange(rows + 1)
        stones = [np.nonzero(arrays["cells"] == player + 1) for player in range(2)]
        marks = [
            Rectangles(0.0, 0.0, columns, rows, fill="ground"),
            Segments(across, 0.0, across, rows, outline="grid", line_width=0.05),
            Segments(0.0, down, columns, down, outline="grid", line_width=0.05),
            *(Discs(x + 0.5, y + 0.5, 0.38, fill=player) for player, (y, x) in zip(PLAYERS, stones, strict=True)),
        ]
        return Drawing((-0.5, rows + 0.5, columns + 0.5, -0.5), marks, seconds=0.6, choices=self.places_of_choices())
