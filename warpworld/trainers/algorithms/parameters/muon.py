"""Muon for the matrices of a network, Adam for all else, over one vector of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from warpworld.errors import ConfigError
from warpworld.policies import Ensemble
from warpworld.trainers.algorithms.parameters.optimizers import Adam

MOMENTUM = 0.95
ADAM_EPS = 1e-5


@dataclass(frozen=True)
class Matrix:
    """Place of a matrix of weights in a vector: ``rows * columns`` numbers from ``first`` on."""

    first: int
    rows: int
    columns: int

    def of(self, vector: Tensor) -> Tensor:
        """A view, (rows, columns)."""
        return vector[self.first : self.first + self.rows * self.columns].view(self.rows, self.columns)


def matrices_of(module: nn.Module, places: Sequence[tuple[nn.Parameter, int]]) -> list[Matrix]:
    """The matrices that a module's parameters consist of.

    Of a convolution that is (outputs, inputs * kernel), as Jordan et al. 2024 take it; a layer of an ``Ensemble`` has
    one for each member. What has a single row or column is none.

    Args:
        module: whose parameters these are.
        places: each parameter, and where it begins in the vector.
    """
    of_ensembles = {id(each) for part in module.modules() if isinstance(part, Ensemble) for each in part.parameters()}
    found = []
    for parameter, first in places:
        if id(parameter) in of_ensembles:  # (members, rows, columns), biases a row each
            count, rows, columns = parameter.shape
            found += [Matrix(first + member * rows * columns, rows, columns) for member in range(count)]
        elif parameter.dim() >= 2:
            found.append(Matrix(first, len(parameter), parameter[0].numel()))
    return [matrix for matrix in found if min(matrix.rows, matrix.columns) > 1]


class Muon(Adam):
    """torch's Muon (Jordan et al. 2024) for matrices of weights, and Adam for biases and single rows.

    A matrix moves along the gradient's momentum, whose singular values are all made about 1. The step is as long as one
    of Adam's, 0.2 sqrt(max(rows, columns)) in the matrix's norm over sqrt(rows * columns) (Liu et al. 2025, arXiv
    2502.16982), so that learning rates of Adam fit. Without weight decay.

    Attributes:
        matrices: that it moves.
        others: like the vector, 1 where Adam moves it and 0 where a matrix is.

    Args:
        vector: with a gradient.
        lr: learning rate, a number or a tensor.
        matrices: at least one.
        eps: what Adam adds to its denominator.
        fused: whether Adam is one kernel.

    Raises:
        ConfigError: there is no matrix.
    """

    def __init__(self, vector: nn.Parameter, lr: float, matrices: Sequence[Matrix], eps: float, fused: bool) -> None:
        if not matrices:
            raise ConfigError(
                "optimizer is muon, but the policy has no matrix of weights, expected a layer of two or more inputs "
                "and outputs; use adam"
            )
        super().__init__([vector], lr=lr, eps=eps, fused=fused)
        self._vector, self.matrices = vector, tuple(matrices)
        self._moves = torch.zeros_like(vector)  # of the matrices, for a learning rate of 1
        self.others = torch.ones_like(vector)
        self._parts = []
        for matrix in self.matrices:
            matrix.of(self.others.detach()).zero_()
            self._parts.append(nn.Parameter(matrix.of(self._moves.detach())))
        self._muon = torch.optim.Muon(
            self._parts, lr=1.0, weight_decay=0.0, momentum=MOMENTUM, adjust_lr_fn="match_rms_adamw"
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Take one step along the present gradient; Adam updates the part that belongs to no matrix."""
        gradient = self._vector.grad
        assert gradient is not None
        # Adam's step, with gradients of zero where the matrices are
        whole = gradient.clone()
        gradient.mul_(self.others)
        super().step()
        gradient.copy_(whole)
        # the matrices' momentum, which is saved with this optimizer's state
        state = self.state[self._vector]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(self._vector)
        # the matrices' step, at this optimizer's learning rate
        self._moves.zero_()
        for matrix, part in zip(self.matrices, self._parts, strict=True):
            part.grad = matrix.of(whole)
            self._muon.state[part]["momentum_buffer"] = matrix.of(state["momentum_buffer"])
        self._muon.step()
        self._vector.add_(self._moves * self.param_groups[0]["lr"])


def muon(parameters: nn.Parameter, learning_rate: float, matrices: Sequence[Matrix], eps: float = ADAM_EPS) -> Muon:
    """Muon, its Adam fused where this torch can do that for the policy's device."""
    try:
        return Muon(parameters, learning_rate, matrices, eps, fused=True)
    except RuntimeError:
        return Muon(parameters, learning_rate, matrices, eps, fused=False)
