"""An environment in which each env has a level of its own: it pays what the level is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.toys import box
from warpworld import Array, Environment, Group


class Levels(Environment):
    """In PyTorch alone: one step an episode, which pays the env's level; ``twice`` is double of it."""

    per_env = ("level", "height")

    @dataclass(frozen=True)
    class Params:
        """Each env has its own."""

        level: int = 1
        height: float = 0.0

    def groups(self) -> Sequence[Group]:
        return [Group("climber", 1, box(2), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [Array("twice", "float32", per="env", metric="mean")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: arrays["observations"].zero_()]

    def _step(self, arrays: Any, active: Tensor) -> None:
        paid = arrays["level"] + arrays["height"]
        arrays["rewards"] = paid[:, None].float()
        arrays["twice"] = 2.0 * paid
        arrays["terminated"] = torch.ones_like(arrays["terminated"])
