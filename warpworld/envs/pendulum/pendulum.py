"""Swing a pendulum up and keep it there: Gymnasium's Pendulum-v1.

Source: Gymnasium's Pendulum-v1, with its dynamics, rewards and starts. Unlike there, the angle is kept between -pi
and pi, so that it stays exact in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box

from warpworld.drawing import Discs, Drawing, Polygon, Wedges
from warpworld.environment import Array, Environment, Group, Range, register

TORQUES, KEYS = (("clockwise", "counter-clockwise"),), (("right", "left"),)  # of the torque's ends
MOST_SPEED, MOST_TORQUE = 8.0, 2.0  # radians / s, N m


@register("pendulum")
class Pendulum(Environment):
    """Turn a rod at its hinge until it stands upright: one agent, a torque in N m, no end but the time limit."""

    source = "pendulum.cu"
    per_env = ("gravity",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of pendulum."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 200  # steps until the time limit
        gravity: Annotated[float, Range(0)] = 10.0  # m/s^2

    def groups(self) -> Sequence[Group]:
        """One agent."""
        high = np.array([1.0, 1.0, MOST_SPEED], dtype=np.float32)
        seen, torque = Box(-high, high), Box(-MOST_TORQUE, MOST_TORQUE, (1,))
        return [Group("agent", 1, seen, torque, action_names=TORQUES, action_keys=KEYS)]

    def arrays(self) -> Sequence[Array]:
        """The rod's state."""
        bounds = (-MOST_SPEED, MOST_SPEED)
        return [Array("state", "float32", (2,), bounds=bounds, doc="angle from upright (radians), angular velocity")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The rod, upright at an angle of 0, and at its hinge the torque as a sector towards which it turns."""
        angle = float(arrays["state"][0, 0]) + math.pi / 2.0  # from the x axis
        torque = float(np.clip(arrays["actions"][0, 0], -MOST_TORQUE, MOST_TORQUE)) if arrays["timestep"] else 0.0
        along, across = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
        rod = np.outer([0.0, 1.0, 1.0, 0.0], along) + np.outer([-0.08, -0.08, 0.08, 0.08], across)
        turn = torque / MOST_TORQUE * math.pi / 2.0
        marks = [
            Discs(0.0, 0.0, 1.08, fill="ground", outline="grid", line_width=0.02),
            Wedges(0.0, 0.0, 0.4, angle + turn / 2.0, abs(turn), fill="alarm", opacity=0.6),
            Polygon(rod[:, 0], rod[:, 1], fill="agent"),
            Discs([0.0, along[0]], [0.0, along[1]], 0.08, fill="agent"),
            Discs(0.0, 0.0, 0.04, fill="ink"),
        ]
        return Drawing((-1.3, -1.3, 1.3, 1.3), marks, seconds=0.05)
