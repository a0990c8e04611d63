"""Explorer in Python alone: an agent is paid for each piece of wall that it sees for the first time.

The rules of the packaged explorer, which is written in CUDA, on the arrays of the block Hits.
Run ``warpworld check examples/explorer.py`` and ``warpworld train examples/explorer.yaml``.
"""

from dataclasses import dataclass
from typing import Any

import torch

from warpworld import Array, Group
from warpworld.blocks import IMU, RGB, BlockEnvironment, BlockParams, Depth, Hits, MomentumMovement, RandomSpawns


class Explorer(BlockEnvironment):
    """One agent walks through a home; each texel of wall that it sees for the first time pays 1 / 64."""

    blocks = (MomentumMovement(), RandomSpawns(), Hits(), RGB(), Depth(), IMU())

    @dataclass(frozen=True)
    class Params(BlockParams):
        """Those of the packaged explorer."""

        res: int = 256
        subsample: int = 4
        patience: int = 200  # steps that an agent lives without seeing anything new
        episode_length: int = 100_000  # steps until the time limit

    def groups(self) -> list[Group]:
        """One explorer."""
        return [Group("explorer", 1, self.observation(), self.action())]

    def arrays(self) -> list[Array]:
        """What has been seen: entry 0 is of rays that meet no wall, and texel t has entry t + 1."""
        entries = (self.params.plan_set.most_texels + 1,)
        return [
            *super().arrays(),
            Array("seen", "bool", entries, per="env", initial=False, on_reset="initial", doc="of each texel"),
            Array("potential", "int32", per="env", doc="texels seen in this episode"),
        ]

    def rules(self) -> list[Any]:
        """Pay for what is new, and end the episode where nothing has been new for too long."""
        return [self.pay]

    def first_rules(self) -> list[Any]:
        """What an agent sees first is not paid."""
        return [self.look]

    def look(self, arrays: Any, active: torch.Tensor) -> None:
        """Mark the texels in view."""
        entries = arrays["hit_texel"][:, 0].long() + 1
        seen = torch.where(active[:, None], arrays["seen"].scatter(1, entries, True), arrays["seen"])
        arrays["seen"] = seen
        arrays["potential"] = torch.where(active, seen[:, 1:].sum(1, dtype=torch.int32), arrays["potential"])

    def pay(self, arrays: Any, active: torch.Tensor) -> None:
        """Rewards and ends."""
        before = arrays["potential"].clone()
        self.look(arrays, active)
        arrays["rewards"] = (arrays["potential"] - before)[:, None] / 64.0
        arrays["terminated"] = arrays["timestep"] >= arrays["potential"] + self.params.patience
        arrays["truncated"] = arrays["timestep"] >= self.params.episode_length
