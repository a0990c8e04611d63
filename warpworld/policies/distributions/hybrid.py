"""The distribution of actions of several parts: a choice for each head, and a normal distribution for each number."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from warpworld.policies.distributions.distribution import Categorical, Gaussian
from warpworld.policies.samplers import HybridSampler, SamplerContext


class Hybrid(nn.Module):
    """Actions of a Dict or Tuple: choices and numbers, independent given the observation.

    Outputs are the logits of all heads, and behind them the means of all numbers; an action in one row is the choices
    of all heads, as float, and behind them the numbers as drawn. So log-probabilities and entropies are sums of those
    of a ``Categorical`` and of a ``Gaussian``.

    Attributes:
        choices: the distribution of the choices; None without.
        numbers: the distribution of the numbers; None without.
        num_choices: of all heads.
        num_outputs: how many numbers a network gives for it.

    Args:
        head_sizes: number of choices of each head.
        size: numbers of all Boxes.
    """

    num_choices: int
    num_outputs: int

    def __init__(self, head_sizes: Sequence[int], size: int) -> None:
        super().__init__()
        self.choices = Categorical(head_sizes) if head_sizes else None
        self.numbers = Gaussian(size) if size else None
        self._heads, self._size = len(head_sizes), int(size)
        self.num_choices = sum(head_sizes)
        self.num_outputs = self.num_choices + self._size

    @property
    def head_sizes(self) -> tuple[int, ...]:
        """Number of choices of each head."""
        return self.choices.head_sizes if self.choices is not None else ()

    @property
    def log_std(self) -> Tensor | None:
        """The logarithm of each number's deviation, (size,) float32; None without numbers."""
        return None if self.numbers is None else self.numbers.log_std

    def sampler(self, context: SamplerContext, kernel: str) -> HybridSampler:
        """Build the sampler that draws from this distribution for a group."""
        return HybridSampler(context, kernel, self.head_sizes, self._size)

    def choose(
        self, outputs: Tensor, greedy: bool, generator: torch.Generator | None = None, allowed: Tensor | None = None
    ) -> Tensor:
        """Choose actions without a world; numbers are neither scaled nor cut off.

        Args:
            outputs: (..., num_outputs) float.
            greedy: take the likeliest choices and the means; otherwise draw.
            generator: of the draws; None takes torch's global one.
            allowed: (..., num_choices) bool, False for choices that are forbidden.

        Returns:
            (..., heads + size) of the dtype of ``outputs``.
        """
        logits, means = self._split_outputs(outputs)
        rows = []
        if self.choices is not None:
            rows.append(self.choices.choose(logits, greedy, generator, allowed).to(outputs.dtype))
        if self.numbers is not None:
            rows.append(self.numbers.choose(means, greedy, generator))
        return torch.cat(rows, -1)

    def log_prob_and_entropy(
        self, outputs: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Logarithm of the probability of the choices times the density of the numbers, and the entropy of both.

        Args:
            outputs: (..., num_outputs) float.
            actions: (..., heads + size) float: choices, then numbers as drawn.
            action_masks: (..., num_choices) bool, False for choices that are forbidden; None allows all.

        Returns:
            Two of shape (...), in nats.
        """
        logits, means = self._split_outputs(outputs)
        taken, drawn = actions.split([self._heads, self._size], -1)
        found = []
        if self.choices is not None:
            found.append(self.choices.log_prob_and_entropy(logits, taken, action_masks))
        if self.numbers is not None:
            found.append(self.numbers.log_prob_and_entropy(means, drawn))
        log_probs, entropies = zip(*found, strict=True)
        return sum(log_probs[1:], start=log_probs[0]), sum(entropies[1:], start=entropies[0])

    def _split_outputs(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (..., num_choices), and means (..., size)."""
        logits, means = outputs.split([self.num_choices, self._size], -1)
        return logits, means
