"""Base of algorithms that learn by a loss of minibatches: for autograd, and as terms for C++ and kernels."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from torch import Tensor

from warpworld.trainers.algorithms.algorithm import Algorithm
from warpworld.trainers.algorithms.experience import Batch, Experience
from warpworld.trainers.algorithms.settings import Losses, LossTerms


class WithLoss(Algorithm):
    """An algorithm with a loss.

    Attributes:
        loss_diagnostics: names of the numbers that the loss gives.
        loss_has_ratio: whether the loss weighs an action by its probability now, over that when it was taken.
    """

    loss_diagnostics: ClassVar[tuple[str, ...]]
    loss_has_ratio: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Leave a loss to autograd where the class, base or mixin that brings it does not bring ``loss_terms``, too."""
        super().__init_subclass__(**options)
        loss_of, losses, terms = (_place_of(cls, name) for name in ("loss_of", "losses", "loss_terms"))
        if min(loss_of, losses) < terms:
            cls.loss_terms = WithLoss.loss_terms  # type: ignore[method-assign]

    @abstractmethod
    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """The loss of a minibatch, given what the present policy makes of its B rows.

        Args:
            log_probs: (B,) float, log-probability of the actions.
            entropies: (B,) float.
            values: (B,) float.
            minibatch: the rows.

        Returns:
            The loss, a scalar with gradient, and its diagnostics by name, scalars without.
        """

    def loss_terms(self) -> LossTerms | None:
        """Terms of the same loss, for C++ and kernels; None leaves its gradient to autograd.

        A class that defines ``loss_of`` or ``losses`` has none unless it defines this, too.
        """
        return None

    def losses(self, minibatch: Experience) -> Losses:
        """The loss of a minibatch under the present policy, and its diagnostics."""
        rows, (outputs, values) = minibatch.rows, minibatch.evaluated(self.policy)
        distribution: Any = self.policy.distribution
        log_probs, entropies = distribution.log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
        return self.loss_of(log_probs, entropies, values, rows)


def _place_of(cls: type, name: str) -> int:
    """The place of the class that defines an attribute in the order in which Python looks for it."""
    return next(place for place, each in enumerate(cls.__mro__) if name in vars(each))
