"""A world of blocks for the comparison of devices: every kind of block but one, two cameras, rules in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from warpworld import Group
from warpworld.environment import Phase
from warpworld.eyes.blocks import (
    IMU,
    RGB,
    AgentPixels,
    BlockEnvironment,
    BlockParams,
    Depth,
    MomentumMovement,
    RandomLifespans,
    RandomSpawns,
)


def pay(arrays: Mapping[str, torch.Tensor], active: torch.Tensor) -> None:
    """Who has others near is paid more, in the envs of this launch."""
    places = arrays["positions"]  # (envs, agents, 2), metres
    offsets = places.unsqueeze(1) - places.unsqueeze(2)
    near = 1.0 / (1.0 + offsets.square().sum(-1)).sum(-1)
    arrays["rewards"].copy_(torch.where(active.unsqueeze(1), near, arrays["rewards"]))


class Companions(BlockEnvironment):
    """Agents that look ahead and back are paid for being near to each other."""

    blocks = (MomentumMovement(), RGB(), Depth(), AgentPixels(), IMU(), RandomSpawns(), RandomLifespans())

    @dataclass(frozen=True)
    class Params(BlockParams):
        """Parameters of the blocks; homes of few rooms, in which agents meet."""

        companions: int = 3
        res: int = 64
        subsample: int = 4
        cameras: tuple[float, ...] = (0.0, 180.0)
        num_plans: int = 8
        min_rooms: int = 2
        max_rooms: int = 4
        episode_length: int = 60

    def groups(self) -> Sequence[Group]:
        """All of one kind."""
        return [Group("companion", self.params.companions, self.observation(), self.action())]

    def rules(self) -> Sequence[Phase]:
        """Pay."""
        return [pay]
