"""Units that values are learnt in: the mean and deviation of the returns of late."""

from __future__ import annotations

import torch
from torch import Tensor, nn

DECAY = 0.99  # of what is known, per update: the mean over some 100 updates
LEAST = 1e-2  # deviation of returns that hardly differ


class ValueScale(nn.Module):
    """Lets a critic say (return - mean) / deviation, so that the size of rewards does not matter to what is learnt.

    Mean and mean square are exponential averages over updates, without the bias of their start (Kingma and Ba 2014,
    section 3). Where a critic's last layer follows the scale, what it says in units of reward stays the same: PopArt
    (van Hasselt et al. 2016, arXiv 1602.07714, equation 3). The first returns set the scale alone, since a critic that
    has learnt nothing has nothing to keep.

    Attributes:
        mean: () float64, of the returns.
        deviation: () float64, of the returns, at least 0.01.
        averages: (2,) float64, of means and mean squares, with the bias.
        weight: () float64, 1 - DECAY^updates.
    """

    mean: Tensor
    deviation: Tensor
    averages: Tensor
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("deviation", torch.ones((), dtype=torch.float64))
        self.register_buffer("averages", torch.zeros(2, dtype=torch.float64))
        self.register_buffer("weight", torch.zeros((), dtype=torch.float64))

    def scaled(self, returns: Tensor) -> Tensor:
        """(...) float32, in units of reward -> the same in units of the scale."""
        return ((returns - self.mean) / self.deviation).to(returns.dtype)

    def in_rewards(self, values: Tensor) -> Tensor:
        """(...) float32, in units of the scale -> the same in units of reward."""
        return (values * self.deviation + self.mean).to(values.dtype)

    @torch.no_grad()
    def follow(self, mean: Tensor, variance: Tensor, layer: nn.Linear | None = None) -> tuple[Tensor, Tensor]:
        """Take in the moments of an update's returns; nothing is read back to the host.

        Args:
            mean: () float64.
            variance: () float64, of the population.
            layer: the critic's last, whose values in units of reward are to stay the same; None leaves it.

        Returns:
            Mean and deviation, () float64, of the units in which the critic now says what it said before: the old ones,
            or where the layer has followed, the new ones.
        """
        known, before = self.weight > 0, (self.mean.clone(), self.deviation.clone())
        self.averages.mul_(DECAY).add_(torch.stack((mean, variance + mean**2)), alpha=1.0 - DECAY)
        self.weight.mul_(DECAY).add_(1.0 - DECAY)
        first, second = self.averages / self.weight
        self.mean.copy_(first)
        self.deviation.copy_((second - first**2).clamp(min=LEAST**2).sqrt())
        if layer is not None:
            ratio = torch.where(known, before[1] / self.deviation, 1.0)
            shift = torch.where(known, (before[0] - self.mean) / self.deviation, 0.0)
            layer.weight.mul_(ratio.float())
            layer.bias.mul_(ratio.float()).add_(shift.float())
            return torch.where(known, self.mean, before[0]), torch.where(known, self.deviation, before[1])
        return before
