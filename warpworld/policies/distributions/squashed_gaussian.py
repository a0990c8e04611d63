"""The distribution of SAC's actions: tanh of a normal distribution in each dimension of a bounded Box."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.policies.samplers import SamplerContext, SquashedSampler

_LOG_2 = math.log(2.0)
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


class SquashedGaussian(nn.Module):
    """Box actions: tanh of normal numbers, whose means and deviations both come from the network.

    Actions are in units where -1 and 1 are the Box's ends, and so are their densities. ``sample_squashed.cu`` scales
    what was drawn to the Box.

    Attributes:
        num_outputs: how many numbers a network gives for it: the means, then the logarithms of the deviations.

    Args:
        size: dimensions of the Box.
    """

    num_outputs: int

    def __init__(self, size: int) -> None:
        super().__init__()
        self.num_outputs = 2 * int(size)

    def sampler(self, context: SamplerContext, kernel: str) -> SquashedSampler:
        """Build the sampler that draws from this distribution for a group."""
        return SquashedSampler(context, kernel)

    def choose(
        self, outputs: Tensor, greedy: bool, generator: torch.Generator | None = None, allowed: Tensor | None = None
    ) -> Tensor:
        """Choose actions without a world, not scaled to the Box.

        Args:
            outputs: (..., 2 * size) float.
            greedy: take tanh of the means; otherwise draw.
            generator: of the draws; None takes torch's global one.
            allowed: not used; there is nothing to forbid.

        Returns:
            (..., size) of the dtype of ``outputs``, from -1 to 1.
        """
        means, log_stds = outputs.chunk(2, -1)
        if greedy:
            return means.tanh()
        return (means + log_stds.exp() * torch.empty_like(means).normal_(generator=generator)).tanh()

    def draw(self, outputs: Tensor, normals: Tensor) -> tuple[Tensor, Tensor]:
        """Actions as a differentiable function of the outputs, and the logarithm of their density.

        With u = mean + deviation * normal the action is tanh(u), and log(1 - tanh(u)^2) is
        2 (log 2 - u - softplus(-2 u)), exact where tanh(u) rounds to 1 (Haarnoja et al. 2018, arXiv
        1812.05905, appendix C).

        Args:
            outputs: (..., 2 * size) float.
            normals: (..., size) standard normal numbers.

        Returns:
            (..., size), and (...) in nats.
        """
        means, log_stds = outputs.chunk(2, -1)
        drawn = means + log_stds.exp() * normals
        densities = -0.5 * normals**2 - _HALF_LOG_2_PI - log_stds
        slopes = 2.0 * (_LOG_2 - drawn - functional.softplus(-2.0 * drawn))
        return drawn.tanh(), (densities - slopes).sum(-1)
