"""Distribution of DDPG's policy: the action itself, in each dimension of a bounded Box."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from warpworld.policies.samplers import DeterministicSampler, SamplerContext


class Deterministic(nn.Module):
    """Box actions without chance, in units where -1 and 1 are the Box's ends.

    Attributes:
        num_outputs: how many numbers a network gives for it.

    Args:
        size: dimensions of the Box.
    """

    num_outputs: int

    def __init__(self, size: int) -> None:
        super().__init__()
        self.num_outputs = int(size)

    def sampler(self, context: SamplerContext, kernel: str) -> DeterministicSampler:
        """Make the sampler that writes a group's actions; it is the same for every kernel."""
        return DeterministicSampler(context)

    def choose(
        self, actions: Tensor, greedy: bool, generator: torch.Generator | None = None, allowed: Tensor | None = None
    ) -> Tensor:
        """Choose actions without a world, not scaled to the Box: (..., size); nothing is drawn."""
        return actions
