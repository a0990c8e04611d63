"""Remember a cue until it is asked for: what an agent without memory cannot learn.

Without memory the last step looks alike in all episodes, so that the mean return is 2 / cues - 1: -0.5 with 4 cues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Text
from warpworld.environment import Array, Environment, Group, Range, register


@register("recall")
class Recall(Environment):
    """Memory task: a cue in the first step, nothing for ``delay`` steps, then 1 for naming the cue, -1 for another."""

    source = "recall.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of recall."""

        cues: Annotated[int, Range(2, 1024)] = 4  # of which one is shown
        delay: Annotated[int, Range(0, 2**31 - 3)] = 20  # blank steps between the cue and the step that asks for it

    def groups(self) -> Sequence[Group]:
        """One agent, which names a cue in every step."""
        cues = self.params.cues
        names = tuple(f"cue {cue + 1}" for cue in range(cues))
        return [Group("agent", 1, Box(0.0, 1.0, (cues + 1,)), Discrete(cues), action_names=names)]

    def arrays(self) -> Sequence[Array]:
        """Cue that the agent has to remember."""
        return [Array("cue", "int32", per="env", bounds=(0, self.params.cues - 1), doc="the cue of this episode")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The cues in a circle; the one to be named is ringed, and full while it is shown.

        In the middle the steps until it is asked for, a question mark that does so, and what the answer earns. The one
        that was named is full then, in red if it is wrong.
        """
        cues, cue, seen = self.params.cues, int(arrays["cue"]), arrays["observations"][0]
        x, y = _circle(cues)
        radius = 0.6 * math.sin(math.pi / max(cues, 4))
        marks: list[Mark] = [Discs(x, y, radius, fill="ground", outline="grid", line_width=0.03)]
        if seen[:cues].any():
            marks.append(Discs(x[cue], y[cue], radius, fill="agent"))
        if arrays["terminated"]:
            named = int(arrays["actions"][0, 0])
            marks.append(Discs(x[named], y[named], radius, fill="agent" if named == cue else "alarm"))
        marks.append(Discs(x[cue], y[cue], radius, fill=None, outline="ink", line_width=0.03))
        wait = self.params.delay + 1 - int(arrays["timestep"])  # below 0 once it has been named
        middle = f"{arrays['rewards'][0]:+.0f}" if wait < 0 else str(wait) if wait else "?"
        marks.append(Text(0.0, 0.0, middle, 0.6, fill="muted" if wait > 0 else "ink"))
        return Drawing((-1.5, -1.5, 1.5, 1.5), marks, seconds=0.1)


def _circle(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Places at equal distances on a circle, the first one at the top, clockwise."""
    turn = 2.0 * np.pi * np.arange(count) / count
    return np.sin(turn), np.cos(turn)
