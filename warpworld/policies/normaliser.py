"""Observation normalisation as a layer of the policy."""

from __future__ import annotations

import torch
from torch import Tensor, nn

EPSILON = 1e-8  # keeps a feature that never changes from dividing by zero
LIMIT = 10.0


class ObservationNormaliser(nn.Module):
    """Shifts and scales each feature to mean 0 and variance 1 of what has been learnt from, and cuts off at +-10.

    The moments change when ``update`` is called and at no other time: once after each update of the policy. So a
    rollout and the learning from it see the same layer, and the probability ratio of the first minibatch is 1.

    Attributes:
        mean: (features,) float64.
        variance: (features,) float64, of the population.
        count: () float64, rows seen.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(features, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> the same, normalised."""
        scale = (self.variance + EPSILON).rsqrt()
        shifted = observations - self.mean.to(observations.dtype)
        return (shifted * scale.to(observations.dtype)).clamp(-LIMIT, LIMIT)

    def update(self, observations: Tensor) -> None:
        """Take in (rows, features) more."""
        if len(observations):
            variance, mean = torch.var_mean(observations.double(), 0, correction=0)
            self.merge(len(observations), mean, variance)

    def merge(self, count: int, mean: Tensor, variance: Tensor) -> None:
        """Take in the moments of ``count`` more rows (Chan, Golub and LeVeque 1979, equation 2.1).

        Args:
            count: at least 1.
            mean: (features,) float64.
            variance: (features,) float64, of the population.
        """
        total = self.count + count
        apart = mean - self.mean
        self.variance.mul_(self.count / total)
        self.variance.add_(variance * (count / total) + apart**2 * (self.count * count / total**2))
        self.mean.add_(apart * (count / total))
        self.count.copy_(total)
