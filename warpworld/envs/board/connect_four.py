"""Connect Four."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np

from warpworld.environment import Probabilities, register
from warpworld.envs.board.board import BoardGame
from warpworld.errors import BuildError

logger = logging.getLogger(__name__)


@register("connect_four")
class ConnectFour(BoardGame):
    """Two players drop stones into seven columns by turns; four in a line win 1 and lose the other 1.

    Actions: the column. The stone falls onto the highest one in it. A full board is a draw; a stone on a full column
    ends the game and costs its player 1.
    """

    source = "connect_four.cu"
    board = (6, 7)
    choices = 7
    choice_names = tuple(f"column {number}" for number in range(1, 8))
    choice_keys = tuple("1234567")

    def places_of_choices(self) -> np.ndarray:
        """(choices, 4) left, bottom, right and top of each column in the picture."""
        x, rows = np.arange(self.choices), np.full(self.choices, self.board[0])
        return np.stack([x, 0 * rows, x + 1, rows], axis=1)

    def measure(self, probabilities: Mapping[str, Probabilities]) -> Mapping[str, float]:
        """Measures against perfect play, see ``judged``; none without a C++ compiler."""
        from warpworld.envs.board.solving.judging import judged  # an evaluation's, which other uses do not load

        try:
            return judged(probabilities)
        except BuildError as error:
            logger.warning("connect_four: policies are not judged by perfect play: %s", error)
            return {}
