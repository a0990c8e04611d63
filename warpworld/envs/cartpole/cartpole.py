"""Balance a pole on a cart: Gymnasium's CartPole-v1.

Source: Barto, Sutton, Anderson: "Neuronlike adaptive elements that can solve difficult learning control problems"
(1983), in the form of Gymnasium's CartPole-v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Polygon, Rectangles, Segments
from warpworld.environment import Array, Environment, Group, Range, register

LIMIT_POSITION, LIMIT_ANGLE = 2.4, 0.20943951  # metres, radians: beyond them the episode ends
PUSHES = ("left", "right")  # also the keys for them
SIDES = np.array([-1.0, 1.0])  # left and right


@register("cartpole")
class CartPole(Environment):
    """Push a cart left or right so that the pole on it stays up: one agent, reward 1 a step."""

    source = "cartpole.cu"
    per_env = ("gravity", "cart_mass", "pole_mass", "pole_length", "force")

    @dataclass(frozen=True)
    class Params:
        """Parameters of cartpole."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 500  # steps until the time limit
        gravity: Annotated[float, Range(0)] = 9.8  # m/s^2
        cart_mass: Annotated[float, Range(above=0)] = 1.0  # kg
        pole_mass: Annotated[float, Range(above=0)] = 0.1  # kg
        pole_length: Annotated[float, Range(above=0)] = 1.0  # m, twice Gymnasium's `length`
        force: Annotated[float, Range(above=0)] = 10.0  # N, of a push

    def groups(self) -> Sequence[Group]:
        """One agent."""
        high = np.array([4.8, np.inf, 0.41887903, np.inf], dtype=np.float32)
        return [
            Group("agent", 1, observation=Box(-high, high), action=Discrete(2), action_names=PUSHES, action_keys=PUSHES)
        ]

    def arrays(self) -> Sequence[Array]:
        """The cart's state, which is also what the agent sees."""
        return [Array("state", "float32", (4,), doc="cart position and velocity (m, m/s), pole angle and velocity")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The cart on its track between the limits, and the pole in the sector in which it may lean."""
        x, angle = float(arrays["state"][0, 0]), float(arrays["state"][0, 2])
        length, axle = 1.0, 0.25  # metres; the pole's length is that of the dynamics, the cart's size is for the eye
        ends, lean = LIMIT_POSITION * SIDES, LIMIT_ANGLE * SIDES
        along, across = np.array([np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), -np.sin(angle)])
        pole = np.outer([0.0, 0.0, length, length], along) + np.outer([-0.035, 0.035, 0.035, -0.035], across)
        limit_x, limit_y = x + length * np.sin(lean), axle + length * np.cos(lean)
        marks = [
            Segments(ends, -0.12, ends, 0.12, outline="alarm", line_width=0.03),
            Segments(-2.8, 0.0, 2.8, 0.0, outline="muted", line_width=0.02),
            Segments(x, axle, limit_x, limit_y, outline="grid", line_width=0.015),
            Rectangles(x - 0.25, 0.06, 0.5, 0.22, fill="ink"),
            Discs(x + 0.15 * SIDES, 0.06, 0.06, fill="muted"),
            Polygon(x + pole[:, 0], axle + pole[:, 1], fill="agent"),
            Discs(x, axle, 0.05, fill="paper"),
        ]
        return Drawing((-2.9, -0.3, 2.9, 1.5), marks, seconds=0.02)
