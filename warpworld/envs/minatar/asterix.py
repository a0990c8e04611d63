"""MinAtar's Asterix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Array, register
from warpworld.envs.minatar.minatar import SIDE, Channel, MinAtar, RampingParams

ROWS, SPAWN_INTERVAL, MOVE_INTERVAL, RAMP_INTERVAL = 8, 10, 5, 100


@register("minatar_asterix")
class Asterix(MinAtar):
    """Pick up gold that crosses the screen, which pays 1, and keep clear of enemies that cross it, too.

    Actions: 0 nothing, 1 left, 2 up, 3 right, 4 down. An enemy's touch ends the episode.
    """

    source = "asterix.cu"
    num_actions, action_names = 5, ("none", "left", "up", "right", "down")
    channels = (
        Channel("player", "agent"),
        Channel("enemy", "#d1603d"),
        Channel("trail", "muted", 0.5),
        Channel("gold", "#e0b13c"),
    )

    @dataclass(frozen=True)
    class Params(RampingParams):
        """Parameters of minatar_asterix."""

    def arrays(self) -> Sequence[Array]:
        """The player, what crosses the screen, and how fast it comes."""
        return [
            *super().arrays(),
            Array("player", "int32", (2,), per="env", bounds=(0, SIDE - 1), doc="column, row"),
            Array(
                "crossers",
                "int32",
                (ROWS, 3),
                per="env",
                bounds=(-1, SIDE - 1),
                doc="column, motion, whether it is gold",
            ),
            Array("spawn", "int32", (2,), per="env", bounds=(0, SPAWN_INTERVAL), doc="steps until one comes, interval"),
            Array("move", "int32", (2,), per="env", bounds=(0, MOVE_INTERVAL), doc="steps until they move, interval"),
            Array("ramp", "int32", (2,), per="env", bounds=(-1, RAMP_INTERVAL), doc="steps until it is harder, level"),
        ]
