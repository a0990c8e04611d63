"""MinAtar's Seaquest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Array, register
from warpworld.envs.minatar.minatar import SIDE, Channel, MinAtar, RampingParams

ROWS, MAX_BULLETS, MAX_ENEMIES, MAX_DIVERS = 8, 2, 30, 2
FULL_OXYGEN, ENEMY_RELOAD, SPAWN_INTERVAL, DIVER_INTERVAL, REST = 200, 10, 20, 30, 5


@register("minatar_seaquest")
class Seaquest(MinAtar):
    """Shoot fish and submarines, which pays 1 each, and bring divers to the surface before the air runs out.

    Actions: 0 nothing, 1 left, 2 up, 3 right, 4 down, 5 shoot, in every fifth step at most. At the surface one diver
    leaves for new air; six of them pay 1 for each lit cell of the oxygen gauge. The episode ends when an enemy or its
    bullet touches the submarine, when the oxygen is used up, and when it surfaces without a diver. Each time at the
    surface enemies get faster.
    """

    source = "seaquest.cu"
    num_actions, action_names = 6, ("none", "left", "up", "right", "down", "shoot")
    channels = (
        Channel("front", "agent"),
        Channel("back", "agent", 0.5),
        Channel("bullet", "ink"),
        Channel("trail", "muted", 0.3),
        Channel("enemy_bullet", "#d1603d", 0.6),
        Channel("enemy_fish", "#5b8c5a"),
        Channel("enemy_submarine", "#d1603d"),
        Channel("oxygen_gauge", "#4f8fc0"),
        Channel("diver_gauge", "#e0b13c", 0.7),
        Channel("diver", "#e0b13c"),
    )

    @dataclass(frozen=True)
    class Params(RampingParams):
        """Parameters of minatar_seaquest."""

    def arrays(self) -> Sequence[Array]:
        """The submarine, what swims and flies around it, and what it carries."""
        cells, swimmer = (-1, SIDE - 1), "column, row, motion, steps until it moves"
        spawn = (-1, DIVER_INTERVAL)
        return [
            *super().arrays(),
            Array("submarine", "int32", (3,), per="env", bounds=cells, doc="column, row, where it looks"),
            Array("bullets", "int32", (MAX_BULLETS, 3), per="env", bounds=cells, doc="column, row, motion"),
            Array("enemies", "int32", (MAX_ENEMIES, 4), per="env", bounds=(-1, SIDE), doc=swimmer),
            Array("enemy_reload", "int32", (MAX_ENEMIES,), per="env", bounds=(-1, ENEMY_RELOAD), doc="-1 of a fish"),
            Array("num_enemies", "int32", per="env", bounds=(0, MAX_ENEMIES), doc="in the sea"),
            Array("enemy_bullets", "uint32", (2, ROWS), per="env", bounds=(0, 2**SIDE - 1), doc="that fly left, right"),
            Array("divers", "int32", (MAX_DIVERS, 4), per="env", bounds=(-1, SIDE), doc=swimmer),
            Array("num_divers", "int32", per="env", bounds=(0, MAX_DIVERS), doc="in the sea"),
            Array("supplies", "int32", (3,), per="env", doc="oxygen, divers on board, steps until it may shoot"),
            Array("surfaced", "bool", per="env", doc="has been at the surface since its last dive"),
            Array("spawn", "int32", (3,), per="env", bounds=spawn, doc="steps until an enemy, a diver; interval"),
            Array("pace", "int32", (2,), per="env", bounds=(0, 2**31 - 1), doc="steps that enemies rest, level"),
        ]
