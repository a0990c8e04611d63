"""Residual convolutions of IMPALA's deep network (Espeholt et al. 2018, arXiv 1802.01561, figure 3, on the right)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from warpworld.policies.layers.dense import HIDDEN_GAIN
from warpworld.policies.layers.encoders import Convolution, convolution, kind_of_convolution

BLOCKS = 2  # of each section
SIZE = 3  # of each kernel, which keeps the picture's size
_POOLS: dict[Convolution, type[nn.Module]] = {nn.Conv1d: nn.MaxPool1d, nn.Conv2d: nn.MaxPool2d}


class ResidualBlock(nn.Module):
    """x -> x + convolution(relu(convolution(relu(x)))), of as many channels and pixels.

    Args:
        kind: of convolution.
        channels: of x.
    """

    def __init__(self, kind: Convolution, channels: int) -> None:
        super().__init__()
        self.first = convolution(kind, channels, channels, SIZE, padding=1, gain=HIDDEN_GAIN)
        self.second = convolution(kind, channels, channels, SIZE, padding=1, gain=1.0)

    def forward(self, x: Tensor) -> Tensor:
        """(rows, channels, pixels) -> the same."""
        return x + self.second(self.first(x.relu()).relu())


def residual_convolutions(name: str, shape: tuple[int, ...], channels: Sequence[int]) -> nn.Sequential:
    """Sections for a part of an observation: a convolution, pooling that halves the picture, and two residual blocks.

    Weights are orthogonal, with gain 1 where no activation follows.

    Args:
        name: of the part.
        shape: of the part, channels first.
        channels: of each section.

    Raises:
        ConfigError: the part is neither pixels nor a picture.
    """
    kind = kind_of_convolution("impala", name, shape)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise((shape[0], *channels)):
        layers += [convolution(kind, inputs, outputs, SIZE, padding=1, gain=1.0), _POOLS[kind](SIZE, 2, 1)]
        layers += [ResidualBlock(kind, outputs) for _ in range(BLOCKS)]
    return nn.Sequential(*layers, nn.ReLU())
