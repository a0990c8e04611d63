"""Kernels for the losses of policies that act in a Box, see box_loss.cu."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Gaussian, Policy
from warpworld.trainers.algorithms.updates.choice_loss import choice_loss
from warpworld.trainers.algorithms.updates.row_loss import RowLoss
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "box_loss.cu"
LANES = 128  # of a block
MOST_NUMBERS = 16  # of an action: each lane has sums for all of them


def row_loss(policy: Policy, world: World) -> RowLoss | None:
    """Kernels for the loss of a policy that acts by choices or in a Box; None where it does neither, or by too many.

    Args:
        policy: on the world's device.
        world: that is not sealed.
    """
    distribution = policy.distribution
    if type(distribution) is Gaussian:
        return BoxLoss(world, distribution) if distribution.num_outputs <= MOST_NUMBERS else None
    return choice_loss(policy, world)


class BoxLoss(RowLoss):
    """The losses for rows of actions in a Box; outputs are means of normal distributions.

    Args:
        world: that is not sealed.
        distribution: whose deviations are learnt.
    """

    def __init__(self, world: World, distribution: Gaussian) -> None:
        size = distribution.num_outputs
        super().__init__(world, SOURCE, {"SIZE": size}, LANES, torch.float32, num_own=size)
        self._distribution = distribution

    def of_distribution(self) -> Tensor:
        """Logarithms of the deviations."""
        return self._distribution.log_std.detach()

    def give(self) -> None:
        """Add the latest gradient at the logarithms of the deviations to theirs."""
        gradient = self._distribution.log_std.grad
        if gradient is not None:
            gradient.add_(self.own)
