"""Parts that both mountain cars share: the car's state, its observation and its picture.

Source: Moore: "Efficient Memory-based Learning for Robot Control" (1990), in the form of Gymnasium's MountainCar-v0 and
MountainCarContinuous-v0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from warpworld.drawing import Discs, Drawing, Polygon, Segments
from warpworld.environment import Array, Environment

LEFT_END, RIGHT_END, MOST_SPEED = -1.2, 0.6, 0.07


def observation() -> Box:
    """Position and velocity."""
    low, high = (np.array(ends, dtype=np.float32) for ends in ([LEFT_END, -MOST_SPEED], [RIGHT_END, MOST_SPEED]))
    return Box(low, high)


class Valley(Environment):
    """A car in a valley.

    Attributes:
        goal: the position that it has to reach.
    """

    goal = 0.5

    def arrays(self) -> Sequence[Array]:
        """The car's state, which is also what the agent sees."""
        return [Array("state", "float32", (2,), doc="position, velocity per step")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The valley, the car in it, and a flag at the goal."""
        x = np.linspace(LEFT_END, RIGHT_END, 61)
        ends = np.array([x[-1], x[0]])
        position = float(arrays["state"][0, 0])
        slope = math.atan(0.45 * 3.0 * math.cos(3.0 * position))
        along, up = np.array([math.cos(slope), math.sin(slope)]), np.array([-math.sin(slope), math.cos(slope)])
        corners = np.outer([-0.09, 0.09, 0.09, -0.09], along) + np.outer([0.03, 0.03, 0.09, 0.09], up)
        wheels = np.outer([-0.055, 0.055], along) + 0.025 * up
        place, flag = np.array([position, _height(position)]), _height(self.goal)
        marks = [
            Polygon(np.append(x, ends), np.append(_height(x), [-0.1, -0.1]), fill="grid"),
            Segments(self.goal, flag, self.goal, flag + 0.22, outline="ink", line_width=0.012),
            Polygon(self.goal + np.array([0.0, 0.09, 0.0]), flag + np.array([0.22, 0.18, 0.14]), fill="alarm"),
            Polygon(place[0] + corners[:, 0], place[1] + corners[:, 1], fill="agent"),
            Discs(place[0] + wheels[:, 0], place[1] + wheels[:, 1], 0.028, fill="ink"),
        ]
        return Drawing((LEFT_END, -0.1, RIGHT_END, 1.25), marks, seconds=1 / 30)


def _height(x: Any) -> Any:
    """Height of the ground in the picture, as Gymnasium draws it."""
    return 0.45 * np.sin(3.0 * x) + 0.55
