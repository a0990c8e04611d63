"""MinAtar's Freeway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Array, register
from warpworld.envs.minatar.minatar import SIDE, Channel, MinAtar, MinAtarParams

LANES, SLOWEST = 8, 5


@register("minatar_freeway")
class Freeway(MinAtar):
    """Lead a chicken across eight lanes of cars; each crossing pays 1, and a car sends it back to the start.

    Actions: 0 nothing, 1 up, 2 down; it can move in every third step. After each crossing the cars get other speeds.
    """

    source = "freeway.cu"
    action_names = ("none", "up", "down")
    channels = (
        Channel("chicken", "agent"),
        Channel("car", "#d1603d"),
        *(Channel(f"speed{pace}", "ink", 0.6 - 0.1 * (pace - 1)) for pace in range(1, SLOWEST + 1)),
    )

    @dataclass(frozen=True)
    class Params(MinAtarParams):
        """Parameters of minatar_freeway."""

        episode_length: int = 2501  # steps until the time limit; MinAtar's of 2500 lets one more pass

    def arrays(self) -> Sequence[Array]:
        """The chicken and the cars."""
        return [
            *super().arrays(),
            Array("chicken", "int32", per="env", bounds=(0, SIDE - 1), doc="its row"),
            Array("rest", "int32", per="env", bounds=(0, 3), doc="steps until it may move"),
            Array(
                "cars",
                "int32",
                (LANES, 3),
                per="env",
                bounds=(-SLOWEST, SIDE - 1),
                doc="column, steps until it moves, speed",
            ),
        ]
