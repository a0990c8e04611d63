"""A running mean with a gate: the recurrence of a minimal GRU, without a product with weights from step to step."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from warpworld.policies.layers.precision import widened


class RunningMeans(Protocol):
    """Kernels that compute ``gated_mean`` in place of torch.

    Attributes:
        dtypes: that it reads of what a layer says.
    """

    dtypes: ClassVar[tuple[torch.dtype, ...]]

    def takes(self, said: Tensor, state: Tensor) -> bool:
        """Whether it computes these."""

    def __call__(self, said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """(T, S, 2 * size), (S, size) and (T, S) -> (T, S, size) float32, with a gradient."""


def gated_mean(said: Tensor, state: Tensor, starts: Tensor, native: RunningMeans | None = None) -> Tensor:
    """h_t = (1 - z_t) * h_{t-1} + z_t * c_t, with h_{t-1} = 0 where an episode begins (Feng et al. 2024, section 3.1).

    On a CPU one step follows the other, each a single pass over its numbers. On a GPU, where each step would be a
    launch, a scan over time takes the logarithm of as many.

    Args:
        said: (T, S, 2 * size) float, the gates z before their sigmoid, and behind them the candidates c.
        state: (S, size) float, h before the first step.
        starts: (T, S) bool, where h is 0 before the step.
        native: computes it where it can; None leaves it to torch.

    Returns:
        (T, S, size) float, h after each step, with a gradient for ``said`` and ``state``.
    """
    if native is not None and native.takes(said, state):
        return native(said, state, starts)
    gates, candidates = widened(said).chunk(2, -1)
    return _GatedMean.apply(gates.sigmoid(), candidates, state, starts.unsqueeze(-1))


class _GatedMean(torch.autograd.Function):
    """Backward, what later steps say of h_t arrives by the same recurrence: g_t = y_t + (1 - z_{t+1}) * g_{t+1}."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, candidates: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """z, c, h and (T, S, 1) starts -> (T, S, size)."""
        means = (_stepped if _is_serial(gates) else _scanned)(gates, candidates, state, starts)
        ctx.save_for_backward(gates, candidates, state, starts, means)
        return means

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of gates, candidates and state."""
        gates, candidates, state, starts, means = ctx.saved_tensors
        kept = (1.0 - gates).masked_fill_(starts, 0.0)  # of the state before a step
        gradient = _accumulated(kept, given)
        of_state = kept[0] * gradient[0]
        before = torch.cat((state.unsqueeze(0), means[:-1])).masked_fill_(starts, 0.0)
        return gradient * (candidates - before), gradient * gates, of_state, None


def _is_serial(tensor: Tensor) -> bool:
    """Whether steps follow each other where the tensor lies."""
    return not tensor.is_cuda


def _stepped(gates: Tensor, candidates: Tensor, state: Tensor, starts: Tensor) -> Tensor:
    means = torch.empty_like(candidates)
    for t, begins in enumerate(starts):
        before = (means[t - 1] if t else state).masked_fill(begins, 0.0)
        torch.lerp(before, candidates[t], gates[t], out=means[t])
    return means


def _scanned(gates: Tensor, candidates: Tensor, state: Tensor, starts: Tensor) -> Tensor:
    kept = (1.0 - gates).masked_fill_(starts, 0.0)
    added = gates * candidates
    added[0].addcmul_(kept[0], state)
    return _scan(kept, added)


def _accumulated(kept: Tensor, given: Tensor) -> Tensor:
    """g_t = given_t + kept_{t+1} * g_{t+1}: (T, S, size)."""
    if not _is_serial(given):
        later = torch.cat((kept[1:], torch.zeros_like(kept[:1])))
        return _scan(later.flip(0), given.flip(0)).flip(0)
    found = given.clone(memory_format=torch.contiguous_format)
    for t in range(len(found) - 2, -1, -1):
        found[t].addcmul_(kept[t + 1], found[t + 1])
    return found


def _scan(kept: Tensor, added: Tensor) -> Tensor:
    """x_t = kept_t * x_{t-1} + added_t by doubling (Hillis and Steele 1986): x_{-1} = 0."""
    reach = 1
    while reach < len(added):
        added = torch.cat((added[:reach], torch.addcmul(added[reach:], kept[reach:], added[:-reach])))
        kept = torch.cat((kept[:reach], kept[reach:] * kept[:-reach]))
        reach *= 2
    return added
