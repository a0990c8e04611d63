"""MinAtar's Breakout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Array, register
from warpworld.envs.minatar.minatar import SIDE, Channel, MinAtar, MinAtarParams


@register("minatar_breakout")
class Breakout(MinAtar):
    """Keep a ball in play with a paddle; each brick that it breaks pays 1, and a lost ball ends the episode.

    Actions: 0 nothing, 1 left, 2 right. Once all bricks are gone, they are put back when the ball reaches the paddle's
    row. MinAtar has no time limit; here it keeps a policy that only bounces the ball from playing forever.
    """

    source = "breakout.cu"
    channels = (
        Channel("paddle", "agent"),
        Channel("ball", "ink"),
        Channel("trail", "muted", 0.5),
        Channel("brick", "#d1603d"),
    )

    @dataclass(frozen=True)
    class Params(MinAtarParams):
        """Parameters of minatar_breakout."""

    def arrays(self) -> Sequence[Array]:
        """Paddle, ball and bricks."""
        cells = (0, SIDE - 1)
        return [
            *super().arrays(),
            Array("paddle", "int32", per="env", bounds=cells, doc="its column"),
            Array(
                "ball", "int32", (4,), per="env", bounds=(-1, SIDE - 1), doc="column, row, and its motion along both"
            ),
            Array("trail", "int32", (2,), per="env", bounds=cells, doc="where the ball was one step earlier"),
            Array("bricks", "uint32", per="env", bounds=(0, 2**30 - 1), doc="a bit for each, row by row"),
            Array("struck", "bool", per="env", doc="the ball broke a brick, and is among bricks since"),
        ]
