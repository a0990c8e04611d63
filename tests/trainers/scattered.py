"""A small environment in which nothing depends on where in its world an env lies, so that envs can be shared out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.environment import Array, Environment, Group


class Scattered(Environment):
    """In PyTorch alone: what agents see is random, action 1 pays, and rows count at random."""

    @dataclass(frozen=True)
    class Params:
        counted: float = 1.0  # probability of a row to count; with 1 there is no mask
        ending: float = 0.1  # probability of a step to end the episode
        broken: float = 0.0  # probability of a reward that is not a number, from an env's 20th step on

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, space(3), Discrete(3)), Group("right", 1, space(3), Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        return [Array("agent_mask", "bool", initial=True, on_reset="keep")] if self.params.counted < 1 else []

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def truncations(self, num_steps: int) -> int:
        return num_steps // 5 + 1

    def _step(self, arrays: Any, active: Tensor) -> None:
        drawn = arrays.random.uniform(5)
        arrays["observations"] = 2 * drawn[..., :3] - 1
        arrays["rewards"] = drawn[..., 3] * (arrays["actions"][..., 0] == 1)
        if self.params.counted < 1:
            arrays["agent_mask"] = drawn[..., 4] < self.params.counted
        ends = arrays.random.env_uniform(1)[:, 0] < self.params.ending
        arrays["terminated"] = ends
        arrays["truncated"] = (arrays["timestep"] >= 5) & ~ends
        broken = (drawn[..., 4] > 1 - self.params.broken) & (arrays["clock"].view(torch.int64) >= 20)[:, None]
        arrays["rewards"] = torch.where(broken, float("nan"), arrays["rewards"])

    def _reset(self, arrays: Any, active: Tensor) -> None:
        seen = arrays.random.uniform(3)
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])
