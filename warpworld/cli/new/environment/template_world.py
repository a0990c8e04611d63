"""Thieves and guards on a grid: a small game to start from. The kernels are in template_world.cu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld import Array, Environment, Group, register
from warpworld.drawing import Discs, Drawing, Rectangles
from warpworld.environment import Range

MOVES, KEYS = ("stay", "right", "left", "up", "down"), ("", "right", "left", "up", "down")  # for `warpworld play`


@register("template_world")
class TemplateWorld(Environment):
    """Thieves are rewarded for each gem that they reach; where a guard catches a thief, the thief pays the guard.

    Actions: 0 stay, 1 x+1, 2 x-1, 3 y+1, 4 y-1. A gem that was reached moves to another cell.
    """

    source = "template_world.cu"

    @dataclass(frozen=True)
    class Params:
        """Constants of a world; kernels take them by name."""

        thieves: int = 2  # agents that are rewarded for gems
        guards: int = 1  # agents that are rewarded for catching thieves
        side: Annotated[int, Range(2)] = 7  # cells along each axis, 0 to side - 1
        episode_length: Annotated[int, Range(1)] = 50  # steps until the time limit

    def groups(self) -> Sequence[Group]:
        """The thieves, then the guards; each sees the way to the gem and to all agents, itself included."""
        num_agents = self.params.thieves + self.params.guards
        seen, moves = Box(-1.0, 1.0, (2 * (1 + num_agents),)), Discrete(5)
        sizes = {"thief": self.params.thieves, "guard": self.params.guards}
        return [Group(name, size, seen, moves, action_names=MOVES, action_keys=KEYS) for name, size in sizes.items()]

    def arrays(self) -> Sequence[Array]:
        """The agents' cells, and the gem's."""
        last = self.params.side - 1
        return [
            Array("x", "int32", bounds=(0, last), doc="cell along x"),
            Array("y", "int32", bounds=(0, last), doc="cell along y"),
            Array("gem", "int32", (2,), per="env", bounds=(0, last), doc="the gem's cell, x and y"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The grid, the gem as a ring, thieves and guards as discs."""
        x, y, (gem_x, gem_y) = arrays["x"], arrays["y"], arrays["gem"]
        side, thieves = self.params.side, self.params.thieves
        marks = [
            Rectangles(-0.5, -0.5, side, side, fill="ground", outline="grid", line_width=0.05),
            Discs(gem_x, gem_y, 0.45, fill=None, outline="alarm", line_width=0.1),
            Discs(x[thieves:], y[thieves:], 0.38, fill="guard"),
            Discs(x[:thieves], y[:thieves], 0.25, fill="thief", outline="paper", line_width=0.05),
        ]
        return Drawing((-1.0, -1.0, side, side), marks, seconds=0.2, places=(x, y))
