"""A learning rate that follows how far steps move the policy."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from warpworld.policies.fused import RateRule
from warpworld.trainers.algorithms.parameters.flat_parameters import FlatParameters

RATE_FACTOR, KL_FACTOR = 1.5, 2.0


class KLRate:
    """Learning rate by the KL divergence of each minibatch (Rudin et al. 2022, arXiv 2109.11978, appendix A).

    Before a step along a minibatch's gradient the divergence between the policy that acted and the present one is
    known: above twice the desired one the rate is divided by 1.5, below half of it multiplied by 1.5. The first step of
    an update leaves it as it is, since nothing has moved yet, and so does a minibatch without rows, whose divergence is
    0. A rate on the device changes there, without the host.

    Attributes:
        rule: the desired divergence, and the ends of the rate.
        has_moved: whether the present update has taken a step.

    Args:
        parameters: whose optimiser holds the rate, which checkpoints save with it.
        rule: see above.
    """

    def __init__(self, parameters: FlatParameters, rule: RateRule) -> None:
        self._parameters, self.rule, self.has_moved = parameters, rule, False

    @property
    def value(self) -> float | Tensor:
        """The rate of the latest step, (); a tensor where it is on the device."""
        held: float | Tensor = self._parameters.optimizer.param_groups[0]["lr"]
        return held

    def begin(self) -> None:
        """Begin an update."""
        self.has_moved = False
        if self._parameters.vector.device.type != "cpu":
            self._parameters.rate_on_device()

    def follow(self, kl: Tensor) -> None:
        """Settle the rate of the next step, whose minibatch has this divergence, ()."""
        held = self.value
        if self.has_moved and isinstance(held, Tensor):
            held.copy_(self._adapted_on_device(held, kl))
        elif self.has_moved:
            self._parameters.learning_rate = self._adapted(float(held), float(kl))
        self.has_moved = True

    def note(self, rate: float) -> None:
        """Take over the rate of the steps that C++ took."""
        self._parameters.learning_rate = rate
        self.has_moved = True

    def _adapted(self, rate: float, kl: float) -> float:
        rule = self.rule
        if kl > KL_FACTOR * rule.desired_kl:
            return max(rate / RATE_FACTOR, rule.lowest)
        if kl < rule.desired_kl / KL_FACTOR and kl != 0:
            return min(rate * RATE_FACTOR, rule.highest)
        return rate

    def _adapted_on_device(self, rate: Tensor, kl: Tensor) -> Tensor:
        """Rate as of ``_adapted``, (), made on the device: nothing is read to the host."""
        rule: Any = self.rule
        less = (rate / RATE_FACTOR).clamp(min=rule.lowest)
        more = (rate * RATE_FACTOR).clamp(max=rule.highest)
        is_small = (kl < rule.desired_kl / KL_FACTOR) & (kl != 0)
        return torch.where(kl > KL_FACTOR * rule.desired_kl, less, torch.where(is_small, more, rate))
