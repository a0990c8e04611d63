"""Kernels for the losses of policies that act by choices, see choice_loss.cu."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Categorical, Policy
from warpworld.trainers.algorithms.updates.row_loss import RowLoss
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "choice_loss.cu"
MOST_SHARED = 11_000  # numbers of float32 in a block's shared memory, besides sums


def choice_loss(policy: Policy, world: World) -> ChoiceLoss | None:
    """Kernels for the loss of a policy that acts by choices; None where the choices of some rows fit in no block.

    Args:
        policy: on the world's device.
        world: that is not sealed.
    """
    distribution = policy.distribution
    if type(distribution) is not Categorical:
        return None
    lanes = next((n for n in (128, 64, 32) if n * (distribution.num_outputs | 1) <= MOST_SHARED), None)
    return None if lanes is None else ChoiceLoss(world, distribution.head_sizes, lanes)


class ChoiceLoss(RowLoss):
    """The losses for rows of choices; outputs are logits.

    Args:
        world: that is not sealed.
        head_sizes: number of choices of each head.
        lanes: rows that a block takes at once, a power of two.
    """

    def __init__(self, world: World, head_sizes: Sequence[int], lanes: int) -> None:
        equal = len(set(head_sizes)) == 1
        sizes = {"LOGITS": sum(head_sizes), "NUM_HEADS": len(head_sizes), "HEAD_SIZE": head_sizes[0] if equal else 0}
        super().__init__(world, SOURCE, sizes, lanes, torch.int32)
        self._head_sizes = torch.tensor(list(head_sizes), dtype=torch.int32, device=world.device)

    def of_distribution(self) -> Tensor:
        """Number of choices of each head."""
        return self._head_sizes
