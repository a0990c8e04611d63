"""A world whose critics read another array than what agents observe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Box

from warpworld.environment import Array, Environment, Group


class Judged(Environment):
    """Nothing happens."""

    def groups(self) -> Sequence[Group]:
        seen = Box(-1.0, 1.0, (2,))
        return [Group("driver", 1, observation=seen, action=seen, critic_input="everything")]

    def arrays(self) -> Sequence[Array]:
        return [Array("everything", "float32", (5,))]

    def phases(self) -> Sequence[Any]:
        return [lambda arrays, active: None]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: None]
