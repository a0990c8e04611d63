"""The layers that built-in models are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn

from warpworld.errors import ConfigError, suggest
from warpworld.policies.layers.linear_tanh import run_layers

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}

HIDDEN_GAIN = math.sqrt(2.0)
POLICY_GAIN = 0.01  # outputs start near zero, so that the first policy is close to uniform
VALUE_GAIN = 1.0

Width = Annotated[int, Field(ge=1)]
Module = TypeVar("Module", bound=nn.Module)


class Layers(nn.Sequential):
    """Layers one behind the other, (..., inputs) -> (..., outputs), by the quickest way there is."""

    def forward(self, x: Tensor) -> Tensor:
        """Run the layers in turn."""
        return run_layers(self, x)


def undrawn(kind: Callable[..., Module], *sizes: int) -> Module:
    """A layer whose weights are yet to be written, and no random number is drawn for them.

    ``nn.utils.skip_init`` gives the same, and imports torch's symbolic shapes: a third of a second of a run's start.

    Args:
        kind: a class of layers without layers within.
        sizes: what it takes.
    """
    layer = kind(*sizes, device="meta")
    for name, parameter in list(layer.named_parameters()):
        setattr(layer, name, nn.Parameter(torch.empty(parameter.shape)))
    return layer


def linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer with orthogonal weights, drawn from torch's global generator, and zero biases."""
    layer = undrawn(nn.Linear, inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def hidden_layers(widths: Sequence[int], activation: str) -> Layers:
    """Linear layers of the given widths, inputs first, each with an activation behind it."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [linear(inputs, outputs, HIDDEN_GAIN), ACTIVATIONS[activation]()]
    return Layers(*layers)


def perceptron(widths: Sequence[int], activation: str, last_gain: float) -> nn.Sequential:
    """Linear layers of the given widths, inputs first, with an activation between each two."""
    return nn.Sequential(*hidden_layers(widths[:-1], activation), linear(widths[-2], widths[-1], last_gain))


def check_hidden(hidden_sizes: Sequence[int], activation: str) -> None:
    """Refuse what no hidden layer can have.

    Raises:
        ConfigError: unknown activation, or a hidden layer without a unit.
    """
    if activation not in ACTIVATIONS:
        hint = suggest(str(activation), ACTIVATIONS)
        raise ConfigError(f"activation {activation!r}, expected one of {', '.join(ACTIVATIONS)}.{hint}")
    if any(width < 1 for width in hidden_sizes):
        raise ConfigError(f"hidden_sizes {list(hidden_sizes)}, expected widths of at least 1")
