"""The gradients of an epoch's minibatches: by torch's autograd, or in C++ where a policy's networks are there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.policies import Policy, backward
from warpworld.policies.fused import DIAGNOSTICS, FusedAdam, FusedGradients, FusedNetworks, Loss
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.parameters import FlatParameters, KLRate
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.spans import LOSS, PASSES, span

Losses = Callable[[Experience], tuple[Tensor, dict[str, Tensor]]]


def minibatches_of(rows: Experience, epoch: Epoch) -> Iterator[Experience]:
    """The minibatches of an epoch, one after the other; all rows as they lie where nothing is shuffled."""
    return iter([rows]) if epoch.order is None else iter(rows.take(epoch.order).split(epoch.lengths))


def by_autograd(
    rows: Experience, epoch: Epoch, losses: Losses, parameters: FlatParameters
) -> Iterator[dict[str, Tensor]]:
    """Leave each minibatch's gradient in the parameters' ``grad`` and give its diagnostics, none without a row.

    Args:
        rows: that the epoch shuffles.
        epoch: the minibatches.
        losses: the loss of one, and its diagnostics.
        parameters: of the policy.
    """
    for minibatch in minibatches_of(rows, epoch):
        diagnostics: dict[str, Tensor] = {}
        if len(minibatch):
            with span(LOSS):
                loss, diagnostics = losses(minibatch)
            parameters.gradient.zero_()
            backward(loss)
        yield diagnostics


@dataclass(frozen=True)
class InCpp:
    """Gradients of a policy's minibatches in C++: without autograd, and without a copy of rows but of bytes.

    Attributes:
        fused: the policy's networks.
        loss: of a minibatch.
        policy: what makes features of raw observations.
        parameters: of the policy; Adam's steps are C++'s, too.
    """

    fused: FusedNetworks
    loss: Loss
    policy: Policy
    parameters: FlatParameters

    def gradients(self, rows: Experience, epoch: Epoch) -> Iterator[dict[str, Tensor]]:
        """Leave each minibatch's gradient in the parameters' ``grad`` and give its diagnostics, as ``by_autograd``."""
        assert epoch.order is not None
        if self.parameters.native is None:
            self.parameters.native = FusedAdam()
        # images get four times as large: their features are made of one minibatch at a time
        of_all = self._of_all(rows) if self.policy.preprocessing is None else None
        for part in epoch.order.split(epoch.lengths):
            if not len(part):
                yield {}
                continue
            if of_all is not None:
                found = of_all(part, self.loss)
            else:
                found = self._of_all(rows.take(part))(torch.arange(len(part)), self.loss)
            yield dict(zip(DIAGNOSTICS, found.unbind(), strict=True))

    def steps(self, rows: Experience, epoch: Epoch, max_grad_norm: float, rate: KLRate | None) -> Tensor | None:
        """Take all steps of an epoch, without Python between them, where Adam's are C++'s.

        Args:
            rows: that the epoch shuffles.
            epoch: the minibatches.
            max_grad_norm: to which a gradient's length is scaled down.
            rate: the learning rate, where it follows the KL divergence.

        Returns:
            (minibatches, 7) float32: of each ``DIAGNOSTICS``, and its gradient's length; None where not all can be so.
        """
        assert epoch.order is not None
        step = self.parameters.native_step(max_grad_norm)
        if step is None or self.policy.preprocessing is not None or not all(epoch.lengths):
            return None
        rule = () if rate is None else (rate.rule, rate.has_moved)
        with span(PASSES):
            found = self._of_all(rows).steps(epoch.order, epoch.lengths, self.loss, step, *rule)
        if rate is not None and self.parameters.native is not None:
            rate.note(self.parameters.native.rate)
        return found

    def _of_all(self, rows: Experience) -> FusedGradients:
        return self.fused.gradients(rows.with_columns(observations=self.policy.features(rows.rows.observations)))


@contextlib.contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep torch to the calling thread: after an operation its others spin, on the cores that fused kernels want."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
