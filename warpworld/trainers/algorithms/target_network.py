"""A slowly following copy of a network."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from warpworld.errors import RunError
from warpworld.trainers.algorithms.parameters.flat_parameters import flattened


class TargetNetwork:
    """A copy of a module that follows it by steps of its own (Mnih et al. 2015; Lillicrap et al. 2016 for ``follow``).

    Attributes:
        module: the copy; it has no gradients.

    Args:
        module: what is copied.
        vector: the module's parameters as one vector, see ``FlatParameters``.
    """

    def __init__(self, module: nn.Module, vector: Tensor) -> None:
        self._vector = vector
        self.module = copy.deepcopy(module).eval()
        self.vector = flattened(self.module).detach()
        self.module.requires_grad_(False)
        for parameter in self.module.parameters():
            parameter.grad = None

    def follow(self, tau: float) -> None:
        """Move towards the module: target <- (1 - tau) target + tau module."""
        with torch.no_grad():
            self.vector.lerp_(self._vector.detach(), tau)

    def copy(self) -> None:
        """Copy the module's parameters."""
        with torch.no_grad():
            self.vector.copy_(self._vector.detach())

    def check_state(self, saved: object) -> None:
        """Whether ``saved`` is a vector of this length.

        Raises:
            RunError: it is not.
        """
        if not isinstance(saved, Tensor) or saved.shape != self.vector.shape:
            shape = tuple(saved.shape) if isinstance(saved, Tensor) else type(saved).__name__
            raise RunError(f"the saved target network is {shape}, expected a vector {tuple(self.vector.shape)}")
