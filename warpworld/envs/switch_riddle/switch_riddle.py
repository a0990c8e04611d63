"""The switch riddle: prisoners who share no more than a light have to know when all of them have seen it.

Source: the riddle of 100 prisoners in Foerster et al.: "Learning to Communicate with Deep Multi-Agent Reinforcement
Learning" (2016), with the rules of JaxMARL's ``switch_riddle``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Discs, Drawing, Rectangles
from warpworld.environment import Array, Environment, Group, Range, register


@register("switch_riddle")
class SwitchRiddle(Environment):
    """Each day one of the prisoners, drawn anew, is in a room with a light, and may say that all have been there.

    Actions: 0 nothing, 1 switch the light, 2 say that all have been in the room. The action of the prisoner in the room
    counts. All earn 1 if it is right, and -1 if not. After 4 prisoners - 6 days the episode ends, and pays nothing. The
    light is off at first.
    """

    source = "switch_riddle.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of the switch riddle."""

        prisoners: Annotated[int, Range(3, 1024)] = 3

    def groups(self) -> Sequence[Group]:
        """Prisoners, who see whether they are in the room, and there whether the light is on."""
        names, keys = ("nothing", "switch the light", "all have been here"), ("n", "space", "a")
        size = self.params.prisoners
        return [Group("prisoner", size, MultiBinary(2), Discrete(3), action_names=names, action_keys=keys)]

    def arrays(self) -> Sequence[Array]:
        """The prisoner in the room, the light, and those who have been there."""
        last = self.params.prisoners - 1
        return [
            Array("room", "int32", per="env", bounds=(0, last), doc="number of the prisoner in it"),
            Array("light", "bool", per="env", doc="whether it is on"),
            Array("been", "bool", doc="whether the prisoner has been in the room on an earlier day"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """Prisoners in a row, filled if they have been in the room, which is the frame around one; and the light."""
        count, room = self.params.prisoners, int(arrays["room"])
        x, been = np.arange(count) + 0.5, arrays["been"]
        marks = [
            Rectangles(room + 0.05, 0.0, 0.9, 1.0, fill="ground", outline="ink", line_width=0.05),
            Discs(x[~been], 0.5, 0.3, fill="paper", outline="prisoner", line_width=0.06),
            Discs(x[been], 0.5, 0.3, fill="prisoner"),
            Discs(room + 0.5, 1.4, 0.2, fill="alarm" if arrays["light"] else "paper", outline="ink", line_width=0.04),
        ]
        return Drawing((-0.2, -0.2, count + 0.2, 1.8), marks, seconds=0.6)
