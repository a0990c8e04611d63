"""Exploring: an agent starts in a home and is rewarded for every piece of wall that it sees for the first time.

Source: megastep's "explorer" (Andy L. Jones, 2020), with its parameters, observations and rewards. Unlike
there, each episode begins in a random home at a random place, and a ray that hits nothing marks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete

from warpworld.drawing import Drawing, Segments
from warpworld.environment import Array, Group, Kernel, Phase, Range, Script, register
from warpworld.eyes import WALK_KEYS, WALKS, Indoor, IndoorParams, camera_kernel, draw_indoor, texel_stretches
from warpworld.eyes.plans import find_sights, seen_words

VISIBLE = "of each plan a bit for each texel that can be seen from some cell in which agents start"
VISIBLE_TEXELS = "of each plan how many of these there are"


@register("explorer")
class Explorer(Indoor):
    """One agent walks through a home; each texel of wall that it sees for the first time pays 1 / 64.

    Actions: 0 nothing, 1 push left, 2 right, 3 forward, 4 back, 5 turn left, 6 turn right. An episode ends when the
    agent has seen nothing new for too long: after ``patience`` steps, and one more for every texel that it has seen.

    Episodes log ``share``, what was seen of the texels that can be seen: outer sides of a home cannot.
    """

    source = "explorer.cu"
    compile_time = (*Indoor.compile_time, "seen_words")

    @dataclass(frozen=True)
    class Params(IndoorParams):
        """Parameters of explorer."""

        res: int = 256
        subsample: int = 4
        patience: Annotated[int, Range(1, 2**31 - 1)] = 200  # steps that an agent lives without seeing anything new
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 100_000  # steps until the time limit
        seen_words: int = field(init=False, default=0)  # of 32 texels each

        def __post_init__(self) -> None:
            super().__post_init__()
            self._follow("seen_words", seen_words(self.plan_set))

    def groups(self) -> Sequence[Group]:
        """One explorer."""
        return [Group("explorer", 1, self.observation(), Discrete(7), action_names=WALKS, action_keys=WALK_KEYS)]

    def arrays(self) -> Sequence[Array]:
        """Texels that can be seen, and that were seen in this episode."""
        visible = find_sights(self.params.plan_set)
        texels = np.unpackbits(visible.view(np.uint8), axis=1).sum(1, dtype=np.int32)
        return [
            *super().arrays(),
            Array("visible", "uint32", visible.shape, per="world", initial=visible, read_only=True, doc=VISIBLE),
            Array(
                "visible_texels", "int32", texels.shape, per="world", initial=texels, read_only=True, doc=VISIBLE_TEXELS
            ),
            Array("share", "float32", per="env", bounds=(0.0, 1.0), metric="last", doc="seen, of the visible texels"),
            Array("seen", "uint32", (self.params.seen_words,), per="env", doc="a bit for each texel"),
            Array("potential", "int32", per="env", doc="texels seen in this episode"),
            Array("potential_visible", "int32", per="env", doc="those of them that are among the visible ones"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move, then look."""
        return ["move", camera_kernel("see")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Start at a random place, and look."""
        return ["wake", camera_kernel("see_first")]

    def scripts(self) -> Mapping[str, Script]:
        """Reference that measures its distance to walls in three directions, and walks where there is room."""
        return {"wander": "wander"}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The home, with the walls that have been seen in the agent's colour, the agent, and what it sees."""
        plans, plan = self.params.plan_set, int(arrays["plan"])
        bits = np.unpackbits(np.ascontiguousarray(arrays["seen"]).view(np.uint8), bitorder="little").astype(bool)
        first, end = plans["wall_first_texel"][plans["plan_first_wall"][plan : plan + 2]]
        x, y, to_x, to_y = texel_stretches(plans, plan, bits[: end - first])
        seen = Segments(x, y, to_x, to_y, outline="explorer", line_width=0.1)
        return draw_indoor(plans, arrays, ["explorer"], self.params.fov, over_walls=[seen])
