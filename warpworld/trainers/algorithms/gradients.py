"""The gradients of an epoch's minibatches: by torch's autograd, or in C++ where a policy's networks are there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from warpworld.policies import Policy
from warpworld.policies.fused import DIAGNOSTICS, FusedAdam, FusedNetworks, Loss
from warpworld.policies.precision import backward
from warpworld.trainers.algorithms.flat_parameters import FlatParameters
from warpworld.trainers.algorithms.minibatches import Epoch
from warpworld.trainers.algorithms.sequences import Experience

Losses = Callable[[Experience], tuple[Tensor, dict[str, Tensor]]]


def by_autograd(
    rows: Experience, epoch: Epoch, losses: Losses, parameters: FlatParameters
) -> Iterator[dict[str, Tensor]]:
    """Leave each minibatch's gradient in the parameters' ``grad`` and give its diagnostics, none without a row.

    Args:
        rows: that the epoch deals.
        epoch: the minibatches.
        losses: the loss of one, and its diagnostics.
        parameters: of the policy.
    """
    for minibatch in rows.take(epoch.order).split(epoch.lengths):
        diagnostics: dict[str, Tensor] = {}
        if len(minibatch):
            loss, diagnostics = losses(minibatch)
            parameters.gradient.zero_()
            backward(loss)
        yield diagnostics


def in_cpp(
    rows: Experience, epoch: Epoch, fused: FusedNetworks, loss: Loss, policy: Policy, parameters: FlatParameters
) -> Iterator[dict[str, Tensor]]:
    """The same without autograd, and without a copy of the rows, but of those of bytes; Adam's steps are C++'s, too.

    Args:
        rows: that the epoch deals.
        epoch: the minibatches.
        fused: the policy's networks.
        loss: of a minibatch.
        policy: what makes features of raw observations.
        parameters: of the policy.
    """

    def with_features(some: Experience) -> Experience:
        return some.with_columns(observations=policy.features(some.rows.observations))

    if parameters.native is None:
        parameters.native = FusedAdam()
    # images get four times as large: their features are made of one minibatch at a time
    of_all = fused.gradients(with_features(rows)) if policy.preprocessing is None else None
    with _one_torch_thread():
        for part in epoch.order.split(epoch.lengths):
            if not len(part):
                yield {}
                continue
            if of_all is not None:
                found = of_all(part, loss)
            else:
                found = fused.gradient(with_features(rows.take(part)), torch.arange(len(part)), loss)
            yield dict(zip(DIAGNOSTICS, found.unbind(), strict=True))


def steps_in_cpp(
    rows: Experience,
    epoch: Epoch,
    fused: FusedNetworks,
    loss: Loss,
    policy: Policy,
    parameters: FlatParameters,
    max_grad_norm: float,
) -> Tensor | None:
    """All steps of an epoch in C++, without Python between them, where Adam's are C++'s.

    Args:
        rows: that the epoch deals.
        epoch: the minibatches.
        fused: the policy's networks.
        loss: of a minibatch.
        policy: what makes features of raw observations.
        parameters: of the policy.
        max_grad_norm: to which a gradient's length is scaled down.

    Returns:
        (minibatches, 7) float32: of each ``DIAGNOSTICS``, and its gradient's length; None where not all can be so.
    """
    step = parameters.native_step(max_grad_norm)
    if step is None or policy.preprocessing is not None or not all(epoch.lengths):
        return None
    features = rows.with_columns(observations=policy.features(rows.rows.observations))
    return fused.gradients(features).steps(epoch.order, epoch.lengths, loss, step)


@contextlib.contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Keep torch to the calling thread: after an operation its others spin, on the cores that fused kernels want."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
