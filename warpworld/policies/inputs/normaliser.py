"""Observation normalisation as a layer of the policy."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from warpworld.policies.moments import moments

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

    @property
    def scale(self) -> Tensor:
        """Factors of shifted features, (features,) float64."""
        return (self.variance + EPSILON).rsqrt()

    def forward(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> the same, normalised."""
        shifted = observations - self.mean.to(observations.dtype)
        return (shifted * self.scale.to(observations.dtype)).clamp(-LIMIT, LIMIT)

    def update(self, observations: Tensor, mask: Tensor | None = None) -> None:
        """Take in (rows, features) more, of which those count that a (rows,) bool mask says; None counts all."""
        if len(observations) == 0:
            return
        before = [buffer.clone() for buffer in self.buffers()] if mask is not None else []
        count, mean, variance = moments(observations.double(), mask)
        self.merge(count, mean, variance)
        for buffer, old in zip(self.buffers(), before, strict=False):  # where no row counts nothing changes
            buffer.copy_(torch.where(torch.as_tensor(count) > 0, buffer, old))

    def merge(self, count: int | Tensor, mean: Tensor, variance: Tensor) -> None:
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
