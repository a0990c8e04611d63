"""Varied with a state: an array that the environment declares for critics, which follows what its agents see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from tests.trainers.replay.varied import Varied
from warpworld.environment import Array, Group


class Stated(Varied):
    """The group left, of 2 agents that see 3 numbers each, has as its state twice what they see.

    ``per`` says whether that is one array per env or a part of each agent.
    """

    @dataclass(frozen=True)
    class Params(Varied.Params):
        per: str = "env"

    params: Params

    def groups(self) -> Sequence[Group]:
        return [replace(group, critic_input="overview" if group.name == "left" else None) for group in super().groups()]

    def arrays(self) -> Sequence[Array]:
        shape = (3,) if self.params.per == "agent" else (6,)
        return [*super().arrays(), Array("overview", "float32", shape, per=self.params.per)]  # type: ignore[arg-type]

    def _see(self, arrays: Any, active: Tensor) -> None:
        super()._see(arrays, active)
        seen = 2 * torch.as_tensor(arrays["observations_left" if self.params.apart else "observations"])
        arrays["overview"] = seen if self.params.per == "agent" else seen[:, :2].flatten(1)
