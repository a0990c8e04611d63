"""Gradients with a loss of kernels, where CUDA graphs are captured."""

from __future__ import annotations

from torch import Tensor

from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.updates.gradients import ByAutograd
from warpworld.trainers.algorithms.updates.learner import Learner, Terms
from warpworld.trainers.algorithms.updates.row_loss import RowLoss
from warpworld.trainers.spans import LOSS, span


class ByKernels(ByAutograd):
    """Computes gradients with the loss of kernels, for rows that they take.

    Args:
        learner: the algorithm.
        loss: the kernels.
        terms: of its present loss.
    """

    def __init__(self, learner: Learner, loss: RowLoss, terms: Terms) -> None:
        super().__init__(learner)
        self._loss, self._terms = loss, terms

    def _of(self, minibatch: Experience) -> dict[str, Tensor]:
        if not self._loss.takes(minibatch.rows):
            return super()._of(minibatch)
        with span(LOSS):
            outputs, values = minibatch.evaluated(self.learner.policy)
            *gradients, diagnostics = self._loss(outputs, values, minibatch.rows, self._terms())
        self.learner.parameters.differentiate((outputs, values), gradients)
        self._loss.give()
        return diagnostics
