"""Balance a pole on a cart: Gymnasium's CartPole-v1.

Source: Barto, Sutton, Anderson: "Neuronlike adaptive elements that can solve difficult learning control problems"
(1983), in the form of Gymnasium's CartPole-v1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.environment import Array, Environment, Group, register
from warpworld.errors import DeclarationError


@register("cartpole")
class CartPole(Environment):
    """Push a cart left or right so that the pole on it stays up: one agent, reward 1 a step."""

    source = "cartpole.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of cartpole."""

        episode_length: int = 500  # steps until the time limit

        def __post_init__(self) -> None:
            if not 1 <= self.episode_length < 2**31:
                raise DeclarationError(f"episode_length={self.episode_length}: expected 1 to 2^31 - 1")

    def groups(self) -> Sequence[Group]:
        """One agent."""
        high = np.array([4.8, np.inf, 0.41887903, np.inf], dtype=np.float32)
        return [Group("agent", 1, observation=Box(-high, high), action=Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        """The cart's state, which is also what the agent sees."""
        return [Array("state", "float32", (4,), doc="cart position and velocity (m, m/s), pole angle and velocity")]
