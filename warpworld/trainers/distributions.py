"""Factored categorical actions: one independent choice per head, from logits that lie one head behind the other.

The heads are independent given the observation, so log-probabilities and entropies add up over them. Logits must be
finite; a forbidden choice gets a large negative one (-1e8), since -inf makes the entropy NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def log_prob(logits: Tensor, actions: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """Natural logarithm of the probability of taking ``actions``, all heads together.

    Args:
        logits: (..., sum of head_sizes) float.
        actions: (..., heads) integer, each in [0, its head's size).
        head_sizes: number of choices of each head.

    Returns:
        (...) of the dtype of ``logits``, in nats.
    """
    return _chosen(_log_softmax(logits, head_sizes), actions)


def entropy(logits: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """Entropy of the joint distribution, the sum over heads of ``-sum(p log p)``.

    Args:
        logits: (..., sum of head_sizes) float.
        head_sizes: number of choices of each head.

    Returns:
        (...) of the dtype of ``logits``, in nats.
    """
    return _entropy(_log_softmax(logits, head_sizes))


def log_prob_and_entropy(logits: Tensor, actions: Tensor, head_sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """``log_prob`` and ``entropy`` at the cost of normalising the logits once."""
    heads = _log_softmax(logits, head_sizes)
    return _chosen(heads, actions), _entropy(heads)


def _log_softmax(logits: Tensor, head_sizes: Sequence[int]) -> list[Tensor]:
    """Log-probabilities of each head, (..., its size)."""
    return [torch.log_softmax(head, dim=-1) for head in logits.split(list(head_sizes), dim=-1)]


def _chosen(heads: list[Tensor], actions: Tensor) -> Tensor:
    """Sum over heads of the log-probability of the action taken in it."""
    index = actions.long()
    taken = [head.gather(-1, index[..., i : i + 1]).squeeze(-1) for i, head in enumerate(heads)]
    return sum(taken[1:], start=taken[0])


def _entropy(heads: list[Tensor]) -> Tensor:
    """Sum over heads of their entropies."""
    each = [-(head.exp() * head).sum(-1) for head in heads]
    return sum(each[1:], start=each[0])
