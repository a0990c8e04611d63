"""Pig, a game of dice that is a C++ class: a small start for simulators in C++. The class is in template_world.hpp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld import Environment, Group, register
from warpworld.drawing import Drawing, Rectangles
from warpworld.environment import Range


@register("template_world")
class TemplateWorld(Environment):
    """The player rolls a die as often as it dares; a turn that it ends pays its points, and a 1 takes all of them.

    Actions: 0 end the turn, 1 roll. Ten points are a reward of 1. Ending turns at 20 points is worth most: 8.14 a turn.
    """

    source = "template_world.cu"
    devices = ("cpu",)  # C++ with exceptions and its library
    resident_bytes = 1024  # the most that an object saves

    @dataclass(frozen=True)
    class Params:
        """Constants of a world; kernels take them by name."""

        num_turns: Annotated[int, Range(1)] = 5

    def groups(self) -> Sequence[Group]:
        """One player, which sees the points of its turn and how many turns have ended."""
        return [Group("player", 1, Box(0.0, 1.0, (2,)), Discrete(2))]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """Points of the turn and turns that have ended, as two bars."""
        points, turns = arrays["observations"][0]
        bars = [Rectangles(0.0, 2.0, points, 1.0, fill="player"), Rectangles(0.0, 0.0, turns, 1.0, fill="muted")]
        frame = Rectangles(0.0, 0.0, 1.0, 3.0, fill="ground", outline="grid", line_width=0.02)
        return Drawing((-0.5, -0.5, 2.0, 4.0), [frame, *bars], seconds=0.3)
