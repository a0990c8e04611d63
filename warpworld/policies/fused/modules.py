"""Modules that have kernels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from torch import nn


class UnfitError(Exception):
    """Networks that the C++ side cannot run; the text is the reason."""


class Activation(IntEnum):
    """Enum of layer.hpp."""

    PLAIN = 0
    TANH = 1
    RELU = 2


_ACTIVATIONS: dict[type[nn.Module], Activation] = {nn.Tanh: Activation.TANH, nn.ReLU: Activation.RELU}


def activation_of(module: nn.Module) -> Activation:
    """Activation of a module.

    Raises:
        UnfitError: none of tanh and relu.
    """
    if type(module) not in _ACTIVATIONS:
        raise UnfitError(f"it has a {type(module).__name__} where tanh or relu is expected")
    return _ACTIVATIONS[type(module)]


def linear_of(module: nn.Module) -> nn.Linear:
    """The module, a linear layer.

    Raises:
        UnfitError: it is something else, or has no bias.
    """
    if type(module) is not nn.Linear or module.bias is None:
        raise UnfitError(f"it has a {type(module).__name__} where a linear layer with a bias is expected")
    return module


def convolution_of(module: nn.Module) -> nn.Conv1d | nn.Conv2d:
    """The module, a convolution of one dimension or two as packaged encoders have it.

    Raises:
        UnfitError: it is something else.
    """
    if not isinstance(module, nn.Conv1d | nn.Conv2d) or module.bias is None:
        raise UnfitError(f"it has a {type(module).__name__} where a convolution with a bias is expected")
    given = tuple(module.padding), module.dilation, module.groups
    if given != ((0,) * len(module.kernel_size), (1,) * len(module.kernel_size), 1):
        raise UnfitError(f"it has a {module}, where a convolution without padding, dilation or groups is expected")
    return module


def pairs_of(layers: Sequence[nn.Module]) -> list[tuple[nn.Module, nn.Module]]:
    """Layers, each with the activation behind it.

    Raises:
        UnfitError: one has none.
    """
    if len(layers) % 2:
        raise UnfitError(f"it has {len(layers)} modules where layers with an activation behind each are expected")
    return list(zip(layers[::2], layers[1::2], strict=True))
