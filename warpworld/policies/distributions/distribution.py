"""Action distributions: what a policy's outputs mean; each brings the sampler whose kernels draw from it.

Heads and dimensions are independent given the observation, so log-probabilities and entropies add up over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from warpworld.policies.samplers import BoxSampler, ChoiceSampler, SamplerContext

FORBIDDEN = -1e8  # the logit of a forbidden choice: its probability is 0 in float32, and the entropy stays finite
_LOG_2_PI = math.log(2 * math.pi)


class Categorical(nn.Module):
    """Discrete and MultiDiscrete actions: one choice per head, from logits that lie one head behind the other.

    Attributes:
        head_sizes: number of choices of each head.
        num_outputs: how many numbers a network gives for it.
    """

    head_sizes: tuple[int, ...]
    num_outputs: int

    def __init__(self, head_sizes: Sequence[int]) -> None:
        super().__init__()
        self.head_sizes = tuple(int(size) for size in head_sizes)
        self.num_outputs = sum(self.head_sizes)

    def sampler(self, context: SamplerContext, kernel: str) -> ChoiceSampler:
        """Build the sampler that draws from this distribution for a group."""
        return ChoiceSampler(context, kernel, self.head_sizes)

    def choose(
        self, logits: Tensor, greedy: bool, generator: torch.Generator | None = None, allowed: Tensor | None = None
    ) -> Tensor:
        """Choose actions without a world, as ``sample.cu`` does for the agents of one.

        Args:
            logits: (..., num_outputs) float.
            greedy: take the first of the likeliest choices; otherwise draw.
            generator: of the draws; None takes torch's global one.
            allowed: (..., num_outputs) bool, False for choices that are forbidden; where a head has none that is
                allowed, all are.

        Returns:
            (..., heads) int64, each counted from 0.
        """
        allowed_logits = logits if allowed is None else torch.where(allowed, logits, FORBIDDEN)
        heads = allowed_logits.split(list(self.head_sizes), -1)
        if not greedy:  # of clocks that ring after exponential times, each is the first with its rate's share
            heads = tuple(head.softmax(-1) / torch.empty_like(head).exponential_(generator=generator) for head in heads)
        return torch.stack([head.masked_fill(head.isnan(), -math.inf).argmax(-1) for head in heads], -1)

    def probabilities(self, logits: Tensor, greedy: bool, allowed: Tensor | None = None) -> Tensor:
        """Probability of each choice, by which ``choose`` draws: (..., num_outputs) float64; those of a head sum to 1.

        Args:
            logits: (..., num_outputs) float.
            greedy: the first of the likeliest choices has probability 1.
            allowed: as for ``choose``.
        """
        allowed_logits = logits if allowed is None else torch.where(allowed, logits, FORBIDDEN)
        heads = allowed_logits.double().split(list(self.head_sizes), -1)
        if greedy:
            return torch.cat([one_hot(head.argmax(-1), head.shape[-1]) for head in heads], -1).double()
        return torch.cat([head.softmax(-1) for head in heads], -1)

    def log_prob_and_entropy(
        self, logits: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Natural logarithm of the probability of taking ``actions``, and the entropy, both of all heads together.

        Args:
            logits: (..., num_outputs) float.
            actions: (..., heads) integer, each in [0, its head's size).
            action_masks: (..., num_outputs) bool, False for choices that are forbidden; None allows all. Where a head
                has none that is allowed, all are.

        Returns:
            Two of shape (...) and of the dtype of ``logits``, in nats.
        """
        if action_masks is not None:
            logits = torch.where(action_masks, logits, FORBIDDEN)
        return log_prob_and_entropy(logits, actions, self.head_sizes)


class Gaussian(nn.Module):
    """Box actions: a normal distribution in each dimension, its mean from the network, its width learnt as a number.

    The means are in units where -1 and 1 are a bounded Box's ends; ``sample_box.cu`` scales what was drawn to the Box
    and cuts it off at the bounds. Log-probabilities are those of what was drawn, before that.

    Attributes:
        log_std: (size,) float32 parameter, logarithm of the standard deviation, 0 at first.
        num_outputs: how many numbers a network gives for it.
    """

    log_std: nn.Parameter
    num_outputs: int

    def __init__(self, size: int) -> None:
        super().__init__()
        self.num_outputs = int(size)
        self.log_std = nn.Parameter(torch.zeros(size))

    def sampler(self, context: SamplerContext, kernel: str) -> BoxSampler:
        """Build the sampler that draws from this distribution for a group."""
        return BoxSampler(context, kernel)

    def choose(
        self, means: Tensor, greedy: bool, generator: torch.Generator | None = None, allowed: Tensor | None = None
    ) -> Tensor:
        """Choose actions without a world, neither scaled nor cut off.

        Args:
            means: (..., size) float.
            greedy: take the means; otherwise draw.
            generator: of the draws; None takes torch's global one.
            allowed: not used; there is nothing to forbid.

        Returns:
            (..., size) of the dtype of ``means``.
        """
        if greedy:
            return means
        noise = torch.empty_like(means).normal_(generator=generator)
        return means + self.log_std.exp() * noise

    def log_prob_and_entropy(
        self, means: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Logarithm of the density of ``actions``, and the (differential) entropy, all dimensions together.

        Args:
            means: (..., size) float.
            actions: (..., size) float, as drawn: neither scaled nor cut off.
            action_masks: not used; there is nothing to forbid.

        Returns:
            Two of shape (...), in nats.
        """
        deviations = (actions - means) * (-self.log_std).exp()
        log_probs = -0.5 * (deviations**2 + _LOG_2_PI) - self.log_std
        entropies = 0.5 * (1 + _LOG_2_PI) + self.log_std
        return log_probs.sum(-1), entropies.sum(-1).expand(means.shape[:-1])


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
