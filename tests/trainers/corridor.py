"""A corridor whose exact action values are known, for one group or for two side by side; in PyTorch alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Box, Discrete

from warpworld.environment import Array, Environment, Group

CELLS = 5


class Corridor(Environment):
    """Each agent walks left (0) or right (1) between cells, and is paid 1 for walking right out of the last one.

    That ends its env's episode where it is the first agent; another begins in a cell drawn at random. Agents see their
    cell as one number of ``CELLS`` that is 1. An episode is truncated after ``episode_length`` steps.
    """

    @dataclass(frozen=True)
    class Params:
        episode_length: int = 12
        two_groups: bool = False

    params: Params

    def groups(self) -> Sequence[Group]:
        names = ("left", "right") if self.params.two_groups else ("walker",)
        return [Group(name, 1, Box(0.0, 1.0, (CELLS,)), Discrete(2)) for name in names]

    def arrays(self) -> Sequence[Array]:
        return [Array("cell", "int64", initial=0)]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: torch.Tensor) -> None:
        cell = arrays["cell"]
        to = cell + 2 * arrays["actions"][..., 0] - 1
        out = to == CELLS
        arrays["rewards"].copy_(out)
        cell.copy_(torch.where(out, arrays.random.below(CELLS)[..., 0], to.clamp(min=0)))
        arrays["terminated"].copy_(out[:, 0])
        arrays["truncated"].copy_(arrays["timestep"] >= self.params.episode_length)
        self._look(arrays)

    def _reset(self, arrays: Any, active: torch.Tensor) -> None:
        cell = arrays["cell"]
        cell.copy_(torch.where(active[:, None], arrays.random.below(CELLS)[..., 0], cell))
        self._look(arrays)

    def _look(self, arrays: Any) -> None:
        cells = torch.arange(CELLS, device=arrays["cell"].device)
        arrays["observations"].copy_(arrays["cell"].unsqueeze(-1) == cells)
