"""Swing the tip of two hanging links up: Gymnasium's Acrobot-v1.

Source: Sutton: "Generalization in Reinforcement Learning: Successful Examples Using Sparse Coarse Coding" (1996), in
the form of Gymnasium's Acrobot-v1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Polygon, Segments
from warpworld.environment import Array, Environment, Group, Range, register

TORQUES, KEYS = ("clockwise", "none", "counter-clockwise"), ("left", "", "right")
MOST_SPEEDS = (4 * math.pi, 9 * math.pi)  # of the links, radians / s


@register("acrobot")
class Acrobot(Environment):
    """Swing two hanging links until the tip is a link's length above the bar: a torque at the joint, -1 a step."""

    source = "acrobot.cu"
    per_env = ("gravity", "link_mass_1", "link_mass_2", "link_length_1", "link_length_2")

    @dataclass(frozen=True)
    class Params:
        """Parameters of acrobot."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 500  # steps until the time limit
        gravity: Annotated[float, Range(0)] = 9.8  # m/s^2
        link_mass_1: Annotated[float, Range(above=0)] = 1.0  # kg, of the link at the bar
        link_mass_2: Annotated[float, Range(above=0)] = 1.0  # kg, of the other one
        link_length_1: Annotated[float, Range(above=0)] = 1.0  # m
        link_length_2: Annotated[float, Range(above=0)] = 1.0  # m

    def groups(self) -> Sequence[Group]:
        """One agent."""
        high = np.array([1.0, 1.0, 1.0, 1.0, *MOST_SPEEDS], dtype=np.float32)
        seen, torques = Box(-high, high), Discrete(3)
        return [Group("agent", 1, seen, torques, action_names=TORQUES, action_keys=KEYS)]

    def arrays(self) -> Sequence[Array]:
        """The links' state."""
        return [Array("state", "float32", (4,), doc="angle from hanging, angle between the links, their velocities")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The links below and above their bar, a metre each, and the line that the tip has to cross."""
        first, second = (float(angle) for angle in arrays["state"][0, :2])
        angles = np.array([first, first + second])
        x, y = (np.concatenate([[0.0], np.cumsum(part)]) for part in (np.sin(angles), -np.cos(angles)))
        marks = [
            Discs(0.0, 0.0, 2.1, fill="ground"),
            Segments(-2.1, 1.0, 2.1, 1.0, outline="alarm", line_width=0.03),
            *(_link(x[k], y[k], angles[k]) for k in range(2)),
            Discs(x[:2], y[:2], 0.09, fill="ink"),
        ]
        return Drawing((-2.3, -2.3, 2.3, 2.3), marks, seconds=0.1)


def _link(x: float, y: float, angle: float) -> Polygon:
    """A link from its joint, as long as it is."""
    along, across = np.array([math.sin(angle), -math.cos(angle)]), np.array([math.cos(angle), math.sin(angle)])
    corners = np.outer([0.0, 1.0, 1.0, 0.0], along) + np.outer([-0.07, -0.07, 0.07, 0.07], across)
    return Polygon(x + corners[:, 0], y + corners[:, 1], fill="agent")
