"""MinAtar's Space Invaders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Array, register
from warpworld.envs.minatar.minatar import SIDE, Channel, MinAtar, RampingParams

MARCH_INTERVAL, ALIEN_RELOAD = 12, 10
ROW = (0, 2**SIDE - 1)  # a bit for each column


@register("minatar_space_invaders")
class SpaceInvaders(MinAtar):
    """Shoot at aliens that march down the screen, each of which pays 1, and keep clear of their bullets.

    Actions: 0 nothing, 1 left, 2 right, 3 shoot, every fifth step at most. A bullet, an alien's touch, or aliens that
    come down too far end the episode. After each wave comes another one, which marches faster.
    """

    source = "space_invaders.cu"
    num_actions, action_names = 4, ("none", "left", "right", "shoot")
    channels = (
        Channel("cannon", "agent"),
        Channel("alien", "#5b8c5a"),
        Channel("alien_left", "muted"),
        Channel("alien_right", "muted"),
        Channel("bullet", "ink"),
        Channel("alien_bullet", "#d1603d"),
    )

    @dataclass(frozen=True)
    class Params(RampingParams):
        """Parameters of minatar_space_invaders."""

    def arrays(self) -> Sequence[Array]:
        """The cannon, the aliens and all bullets."""
        return [
            *super().arrays(),
            Array("cannon", "int32", per="env", bounds=(0, SIDE - 1), doc="its column"),
            Array("aliens", "uint32", (SIDE,), per="env", bounds=ROW, doc="row by row, a bit for each column"),
            Array("bullets", "uint32", (SIDE,), per="env", bounds=ROW, doc="of the cannon, the same"),
            Array("alien_bullets", "uint32", (SIDE,), per="env", bounds=ROW, doc="of the aliens, the same"),
            Array(
                "march", "int32", (3,), per="env", bounds=(-1, MARCH_INTERVAL), doc="motion, steps until it, interval"
            ),
            Array("reload", "int32", (2,), per="env", bounds=(0, ALIEN_RELOAD), doc="steps until cannon, aliens shoot"),
        ]
