"""Gradients of an epoch's minibatches: by torch's autograd, or in C++ where a policy's networks are there."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain

import torch
from torch import Tensor

from warpworld.policies import one_torch_thread
from warpworld.policies.fused import DIAGNOSTICS, FusedAdam, FusedGradients, FusedNetworks
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.updates.learner import Learner, Terms
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.spans import LOSS, PASSES, span

MOST_GROWTH = 2.0  # of rows by which their features are larger, if those of all rows are made at once

Steps = Callable[[], Tensor]
"""Takes steps; gives (minibatches, 7) float32: ``DIAGNOSTICS`` of each, and its gradient's length."""


class Gradients(ABC):
    """Computes the gradients of an epoch's minibatches.

    Attributes:
        norm: length that the latest gradient had before it was scaled down, (); None if it has not been scaled.

    Args:
        learner: the algorithm.
    """

    norm: Tensor | None = None

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @abstractmethod
    def __call__(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Leave each minibatch's gradient in the parameters' ``grad`` and give its diagnostics, none without a row.

        Args:
            rows: that the epoch shuffles.
            epoch: the minibatches.
        """

    def steps(self, rows: Experience, epoch: Epoch) -> Steps | None:
        """All steps of an epoch at once; None where they are taken one by one, as here."""
        return None

    def passes_at_once(self, wanted: int) -> int:
        """Passes that one epoch holds, of those that may follow each other with nothing in between."""
        return 1

    def around(self) -> contextlib.AbstractContextManager[None]:
        """Context of an update."""
        return contextlib.nullcontext()


def minibatches_of(rows: Experience, epoch: Epoch) -> Iterator[Experience]:
    """The minibatches of an epoch, one after the other; all rows as they lie where nothing is shuffled."""
    if epoch.order is None:
        return iter([rows] * epoch.passes)
    lengths = epoch.lengths[: len(epoch.lengths) // epoch.passes]
    return chain.from_iterable(rows.take(order).split(lengths) for order in epoch.order.chunk(epoch.passes))


class ByAutograd(Gradients):
    """Lets torch differentiate the loss."""

    def __call__(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Implement ``Gradients``."""
        for minibatch in minibatches_of(rows, epoch):
            yield self._of(minibatch) if len(minibatch) else {}

    def _of(self, minibatch: Experience) -> dict[str, Tensor]:
        """Leave the gradient of a minibatch with a row; returns its diagnostics."""
        with span(LOSS):
            loss, diagnostics = self.learner.losses(minibatch)
        self.learner.parameters.differentiate([loss])
        return diagnostics


class InCpp(Gradients):
    """Computes gradients in C++ without autograd, and takes Adam's steps.

    Rows are not copied, but for features of bytes among which are choices, and of what is normalised.

    Args:
        learner: an algorithm that has ``loss_terms``.
        networks: of its policy.
        terms: of its present loss.
    """

    def __init__(self, learner: Learner, networks: FusedNetworks, terms: Terms) -> None:
        super().__init__(learner)
        self._networks, self._terms = networks, terms
        learner.parameters.native = self._adam = FusedAdam()
        preprocessing = learner.policy.preprocessing
        self._at_once = preprocessing is None or networks.reads_bytes or preprocessing.growth <= MOST_GROWTH

    def __call__(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Implement ``Gradients``."""
        # bytes get four times as large: unless C++ reads them, their features are made of one minibatch at a time
        of_all = self._of_all(rows) if self._at_once else None
        loss = self._terms().in_cpp()
        for part in epoch.shuffled.split(epoch.lengths):
            if not len(part):
                yield {}
                continue
            if of_all is not None:
                found = of_all(part, loss)
            else:
                found = self._of_all(rows.take(part))(torch.arange(len(part)), loss)
            yield dict(zip(DIAGNOSTICS, found.unbind(), strict=True))

    def steps(self, rows: Experience, epoch: Epoch) -> Steps | None:
        """Implement ``Gradients``, without Python between the steps, where Adam's are C++'s."""
        learner, rate = self.learner, self.learner.rate
        step = learner.parameters.native_step(learner.settings.max_grad_norm)
        is_able = learner.passes_in_cpp and self._at_once and all(epoch.lengths)
        if step is None or not is_able:
            return None
        rule, loss = () if rate is None else (rate.rule, rate.has_moved), self._terms().in_cpp()

        def take() -> Tensor:
            with span(PASSES):
                found = self._of_all(rows).steps(epoch.shuffled, epoch.lengths, loss, step, *rule)
            if rate is not None:
                rate.note(self._adam.rate)
            return found

        return take

    def passes_at_once(self, wanted: int) -> int:
        """Implement ``Gradients``: all of them."""
        return wanted if self.learner.passes_in_cpp else 1

    def around(self) -> contextlib.AbstractContextManager[None]:
        """Leave the cores to C++: after an operation torch's other threads spin, on the cores that it wants."""
        return one_torch_thread()

    def _of_all(self, rows: Experience) -> FusedGradients:
        observations = rows.rows.observations
        seen = observations if self._networks.reads_bytes else self.learner.policy.features(observations)
        return self._networks.gradients(rows.with_columns(observations=seen))
