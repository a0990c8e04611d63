"""An environment whose rewards are no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Box, Discrete

from warpworld.environment import Environment, Group


class Faulty(Environment):
    """One agent whose reward is NaN."""

    @dataclass(frozen=True)
    class Params:
        pass

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 1, Box(0.0, 1.0, (1,)), Discrete(2))]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return []

    def _step(self, arrays: Any, active: Any) -> None:
        arrays["rewards"].fill_(float("nan"))
        arrays["terminated"].zero_()
        arrays["truncated"].zero_()
        arrays["observations"].zero_()
