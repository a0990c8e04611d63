"""Muon in float64, by singular values instead of products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from warpworld.trainers.algorithms.parameters.muon import Matrix

MOMENTUM, ITERATIONS = 0.95, 5


def orthogonal(along: Tensor) -> Tensor:
    """What five steps of the quintic make of a matrix: its singular values go through a polynomial each time."""
    left, values, right = torch.linalg.svd(along / along.norm(), full_matrices=False)
    for _ in range(ITERATIONS):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return left @ values.diag() @ right


class WideMuon(torch.optim.Adam):
    """Adam for a vector, but for its matrices."""

    def __init__(self, vector: nn.Parameter, lr: float, matrices: Sequence[Matrix]) -> None:
        super().__init__([vector], lr=lr, eps=1e-5)
        self._vector, self._matrices, self._momentum = vector, matrices, torch.zeros_like(vector)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take a step."""
        before = self._vector.clone()
        super().step()
        assert self._vector.grad is not None
        self._momentum = MOMENTUM * self._momentum + (1 - MOMENTUM) * self._vector.grad
        along = MOMENTUM * self._momentum + (1 - MOMENTUM) * self._vector.grad
        for matrix in self._matrices:
            length = float(self.param_groups[0]["lr"]) * 0.2 * math.sqrt(max(matrix.rows, matrix.columns))
            matrix.of(self._vector).copy_(matrix.of(before) - length * orthogonal(matrix.of(along)))
