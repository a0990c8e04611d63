"""Environments that scale their rewards and cut them off themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.scattered import Scattered
from tests.trainers.small_worlds import Aim, space
from warpworld.environment import Group


def shape(arrays: Any, params: Any) -> None:
    """Scale a step's rewards by ``factor`` and cut them off at ``limit``."""
    arrays["rewards"] = (params.factor * arrays["rewards"]).clamp(-params.limit, params.limit)


class Shaped(Scattered):
    """Choices of actions; an agent earns ``clip(factor * reward, -limit, limit)``."""

    @dataclass(frozen=True)
    class Params(Scattered.Params):
        factor: float = 1.0
        limit: float = 1e9

    params: Params

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        shape(arrays, self.params)


class ShapedAlone(Shaped):
    """A single agent."""

    def groups(self) -> Sequence[Group]:
        return [Group("archer", 1, space(3), Discrete(3))]


class ShapedAim(Aim):
    """Actions in a Box."""

    @dataclass(frozen=True)
    class Params(Aim.Params):
        high: tuple[float, ...] = (3.0, 1.0)
        factor: float = 1.0
        limit: float = 1e9

    params: Params

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        shape(arrays, self.params)
