"""Encoders of observations of several named parts: a branch for each part, then layers over all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from warpworld.errors import ConfigError
from warpworld.policies.layers.dense import ACTIVATIONS, HIDDEN_GAIN, Layers, hidden_layers, linear, undrawn

Convolution = type[nn.Conv1d] | type[nn.Conv2d]
_CONVOLUTIONS: dict[int, Convolution] = {2: nn.Conv1d, 3: nn.Conv2d}  # by the dimensions of a part


class BranchEncoder(nn.Module):
    """Gives each part of an observation a branch of its own, and joins what these say.

    A part of shape (channels, pixels), such as what a one-dimensional camera sees, goes through one-dimensional
    convolutions and then a linear layer, a picture of shape (channels, height, width) through two-dimensional ones; a
    vector goes through a linear layer. Each linear layer has an activation behind it.

    Attributes:
        shapes: of the parts.
        branch_size: numbers that each branch gives.
        branches: one for each part, in the order in which they lie in an observation.
        joined: layers over what all branches say, behind each other.
    """

    def __init__(
        self,
        shapes: dict[str, tuple[int, ...]],
        *,
        convolutions: Callable[[str, tuple[int, ...]], nn.Sequential],
        branch_size: int,
        hidden_sizes: Sequence[int],
        activation: str,
    ) -> None:
        """Build all layers on the CPU in float32, from torch's global generator.

        Args:
            shapes: of the parts, by name, in their order.
            convolutions: makes those of a part that has pixels, from its name and shape.
            branch_size: numbers that each branch gives.
            hidden_sizes: width of each layer over all branches; may be empty.
            activation: behind each layer: "tanh" or "relu".

        Raises:
            ConfigError: a part is neither pixels, a picture nor a vector, or has fewer pixels than the convolutions
                need.
        """
        super().__init__()
        self._sizes = [math.prod(shape) for shape in shapes.values()]
        self.branches = nn.ModuleList()
        for name, shape in shapes.items():
            first = convolutions(name, shape) if len(shape) > 1 else nn.Sequential()
            with torch.no_grad():
                features = first(torch.zeros(1, *shape)).numel()
            last = linear(features, branch_size, HIDDEN_GAIN)
            self.branches.append(nn.Sequential(first, nn.Flatten(), Layers(last, ACTIVATIONS[activation]())))
        self.shapes, self.branch_size = list(shapes.values()), branch_size
        self.joined = hidden_layers((branch_size * len(shapes), *hidden_sizes), activation)

    def forward(self, observations: Tensor) -> Tensor:
        """(..., features) float32, the parts behind each other -> (..., the last width)."""
        rows = observations.reshape(-1, observations.shape[-1])
        parts = zip(self.branches, rows.split(self._sizes, -1), self.shapes, strict=True)
        said = [branch(part.reshape(-1, *shape)) for branch, part, shape in parts]
        return self.joined(torch.cat(said, -1)).view(*observations.shape[:-1], -1)


def part_of(name: str) -> str:
    """A part of an observation, for messages."""
    return f"observation '{name}'" if name else "the observation"


def kind_of_convolution(model: str, name: str, shape: tuple[int, ...]) -> Convolution:
    """The convolution for a part that has pixels, of one dimension or two.

    Raises:
        ConfigError: it has neither; ``model`` is the model's name, for the message.
    """
    if len(shape) not in _CONVOLUTIONS:
        raise ConfigError(
            f"model '{model}': {part_of(name)} has shape {shape}, expected (channels, pixels), (channels, height, "
            "width) or (numbers,); give the Box another shape, or write a model of your own"
        )
    return _CONVOLUTIONS[len(shape)]


def plain_convolutions(
    name: str, shape: tuple[int, ...], kernels: Sequence[tuple[int, int, int]], activation: str
) -> nn.Sequential:
    """The convolutions for one part, (rows, *shape) -> (rows, channels, pixels that are left).

    Args:
        name: of the part.
        shape: of the part.
        kernels: channels, kernel size and stride of each convolution.
        activation: behind each of them.

    Raises:
        ConfigError: see ``BranchEncoder``.
    """
    kind, what = kind_of_convolution("multi_input", name, shape), part_of(name)
    # pixels that suffice for all convolutions
    needed = 1  # pixels, from the last convolution back to the first
    for _, kernel_size, stride in reversed(kernels):
        needed = (needed - 1) * stride + kernel_size
    if min(shape[1:]) < needed:
        sizes, strides = [kernel[1] for kernel in kernels], [kernel[2] for kernel in kernels]
        pixels, each = " x ".join(map(str, shape[1:])), "" if len(shape) == 2 else " in height and width"
        raise ConfigError(
            f"model 'multi_input': {what} has {pixels} pixels, expected at least {needed}{each} for kernel_sizes "
            f"{sizes} with strides {strides}; take smaller or fewer of them"
        )
    # layers
    widths = [shape[0], *(kernel[0] for kernel in kernels)]
    layers: list[nn.Module] = []
    for (inputs, outputs), (_, kernel_size, stride) in zip(pairwise(widths), kernels, strict=True):
        layers += [convolution(kind, inputs, outputs, kernel_size, stride), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


def convolution(
    kind: Convolution,
    inputs: int,
    outputs: int,
    kernel_size: int,
    stride: int = 1,
    padding: int = 0,
    gain: float = HIDDEN_GAIN,
) -> nn.Module:
    """A convolution with orthogonal weights and zero biases."""
    layer = undrawn(kind, inputs, outputs, kernel_size, stride, padding)
    nn.init.orthogonal_(layer.weight, gain)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer
