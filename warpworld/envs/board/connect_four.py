"""Connect Four."""

from __future__ import annotations

from warpworld.environment import register
from warpworld.envs.board.board import BoardGame


@register("connect_four")
class ConnectFour(BoardGame):
    """Two players drop stones into seven columns by turns; four in a line win 1 and lose the other 1.

    Actions: the column. The stone falls onto the highest one in it. A full board is a draw; a stone on a full column
    ends the game and costs its player 1.
    """

    source = "connect_four.cu"
    board = (6, 7)
    choices = 7
