"""A penalty on the KL divergence whose coefficient follows that divergence."""

from __future__ import annotations

import torch
from torch import Tensor

NEAR, FACTOR = 1.5, 2.0
LIMITS = 2.0**-30, 2.0**30  # of the coefficient, so that it stays a number that the other terms can be added to


class KLPenalty:
    """Coefficient of PPO's penalty on the KL divergence (Schulman et al. 2017, arXiv 1707.06347, section 4).

    After an update whose divergence is above 1.5 times the target the coefficient is doubled, below the target divided
    by 1.5 it is halved. The next update uses it. A coefficient on the device changes there, without the host.

    Attributes:
        coefficient: () float32, of the next update.

    Args:
        first: coefficient of the first update.
        target: divergence that it follows.
        device: of the policy.
    """

    def __init__(self, first: float, target: float, device: torch.device) -> None:
        self.coefficient = torch.tensor(first, dtype=torch.float32, device=device)
        self._target = target

    def follow(self, kl: Tensor) -> None:
        """Settle the coefficient of the next update, after one with this divergence, ()."""
        more, less = self.coefficient * FACTOR, self.coefficient / FACTOR
        is_small = kl < self._target / NEAR
        changed = torch.where(kl > self._target * NEAR, more, torch.where(is_small, less, self.coefficient))
        self.coefficient.copy_(changed.clamp(*LIMITS))
