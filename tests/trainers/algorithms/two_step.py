"""The two-step game of QMIX's paper (Rashid et al. 2018, section 5), its rewards divided by 10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from warpworld.environment import Array, Environment, Group

TOGETHER = np.array([[0.0, 0.1], [0.1, 0.8]])  # what both earn in the second game


class TwoStep(Environment):
    """In the first step agent 0 chooses a game: the first pays ``safe`` whatever is done, the second ``TOGETHER``.

    Agents see the stage, 0, 1 or 2, and their own number, each as a one-hot vector. Both earn the same.
    """

    @dataclass(frozen=True)
    class Params:
        safe: float = 0.7

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 2, Box(0.0, 1.0, (5,)), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [Array("stage", "int32", per="env", initial=0, on_reset="initial")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._see]

    def _step(self, arrays: Any, active: Tensor) -> None:
        stage, (first, second) = arrays["stage"].clone(), arrays["actions"].view(-1, 2).long().unbind(-1)
        together = torch.as_tensor(TOGETHER, device=first.device, dtype=torch.float32)[first, second]
        earned = torch.where(stage == 1, self.params.safe, torch.where(stage == 2, together, 0.0))
        arrays["rewards"] = earned.unsqueeze(-1).expand(-1, 2)
        arrays["terminated"] = stage > 0
        arrays["stage"] = torch.where(stage == 0, 1 + first.int(), stage)
        self._see(arrays, active)

    def _see(self, arrays: Any, active: Tensor) -> None:
        stages = arrays["stage"].unsqueeze(-1).expand(-1, 2)
        stage = (stages.unsqueeze(-1) == torch.arange(3, device=stages.device)).float()
        number = torch.eye(2, device=stages.device).expand(len(stages), 2, 2)
        arrays["observations"] = torch.cat((stage, number), -1)
