"""A transformer as a recurrent cell: attention over the last steps of an agent's episode."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.policies.layers.dense import HIDDEN_GAIN, linear
from warpworld.policies.layers.precision import widened

WIDENING = 4  # hidden units of a layer's perceptron, for each of its inputs


class Reach(NamedTuple):
    """Steps that each of T steps reads, of K that are kept or new.

    Attributes:
        allowed: (S, T, K) bool.
        distances: (T, K) int64, steps back, from 0 to the window's length - 1; anything where it is not allowed.
    """

    allowed: Tensor
    distances: Tensor


class TransformerLayer(nn.Module):
    """Attention and a perceptron, each behind a layer normalisation and added to what it reads.

    The order is that of Parisotto et al. 2019 (arXiv 1910.06764, "Stabilizing Transformers for Reinforcement Learning",
    TrXL-I), without gates. A number for each head and distance, learnt from 0 on, is added to the scores.

    Attributes:
        bias: (heads, window).

    Args:
        size: width of what it reads and gives.
        heads: of the attention; a divisor of ``size``.
        window: steps that a step reads, with itself.
    """

    def __init__(self, size: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_perceptron = nn.LayerNorm(size), nn.LayerNorm(size)
        self.queries, self.keys, self.values = (linear(size, size, 1.0) for _ in range(3))
        self.joined = linear(size, size, 1.0)
        self.wide, self.narrow = linear(size, WIDENING * size, HIDDEN_GAIN), linear(WIDENING * size, size, 1.0)
        self.bias = nn.Parameter(torch.zeros(heads, window))

    def forward(self, hidden: Tensor, read: Tensor, reach: Reach) -> Tensor:
        """Hidden state of the next layer, (S, T, size) float32.

        Args:
            hidden: (S, T, size) float32.
            read: (S, K, size) float32, what is kept of earlier steps, and ``hidden`` behind it.
            reach: see there.
        """
        seen = self.before_attention(read)
        queries = self._of_heads(self.queries(seen[:, -hidden.shape[1] :]))
        keys, values = self._of_heads(self.keys(seen)), self._of_heads(self.values(seen))
        scores = self.bias[:, reach.distances].masked_fill(~reach.allowed.unsqueeze(1), float("-inf"))
        found = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=scores.to(queries.dtype))
        hidden = hidden + widened(self.joined(found.transpose(1, 2).flatten(2)))
        inner = self.wide(self.before_perceptron(hidden)).relu()
        return hidden + widened(self.narrow(inner))

    def _of_heads(self, x: Tensor) -> Tensor:
        """(S, steps, size) -> (S, heads, steps, size / heads)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Transformer(nn.Module):
    """A causal transformer over the last ``window`` steps of an episode, as a ``Cell``.

    Each layer keeps what it read in the last ``window - 1`` steps, as Transformer-XL does (Dai et al. 2019, arXiv
    1901.02860), and reads these beside the new step. A state is the number of steps that are kept, then layer by layer
    what was read in them, the latest last; steps of an earlier episode are zeros and are not read.

    Args:
        width: of the encoder.
        size: width of the layers.
        num_layers: of them.
        heads: of the attention in each; a divisor of ``size``.
        window: steps that a step reads in each layer, with itself.
    """

    def __init__(self, width: int, size: int, num_layers: int, heads: int, window: int) -> None:
        super().__init__()
        self.first, self.last = linear(width, size, 1.0), nn.LayerNorm(size)
        self.layers = nn.ModuleList(TransformerLayer(size, heads, window) for _ in range(num_layers))
        self.size, self.kept = size, window - 1
        self.state_size = 1 + num_layers * self.kept * size

    def step(self, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        begins = torch.zeros(1, encoded.shape[0], dtype=torch.bool, device=encoded.device)
        hidden, after = self.unroll(encoded.unsqueeze(0), state, begins)
        return hidden[0], after

    def unroll(self, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        steps = encoded.shape[0]
        kept = state[:, 1:].unflatten(1, (len(self.layers), self.kept, self.size))
        number, is_there = self._episodes(state[:, 0], starts)
        reach = self._reach(number, is_there, steps)
        remains = (is_there & (number == number[:, -1:]))[:, steps:].unsqueeze(-1)
        hidden, after = widened(self.first(encoded)).transpose(0, 1), []
        for i, layer in enumerate(self.layers):
            read = torch.cat((kept[:, i], hidden), 1)
            after.append(torch.where(remains, read[:, steps:], 0.0).flatten(1))
            hidden = layer(hidden, read, reach)
        count = remains.sum(1).to(state.dtype)
        return self.last(hidden).transpose(0, 1), torch.cat((count, *after), 1)

    def _episodes(self, count: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Number of the episode that each kept and each new step is of, and whether it is there, (S, K) each.

        Args:
            count: (S,), how many steps are kept.
            starts: (T, S) bool.
        """
        begun = starts.t().cumsum(1)
        slots = torch.arange(self.kept, device=count.device)
        is_kept = slots >= self.kept - count.unsqueeze(1)
        number = torch.cat((torch.zeros_like(is_kept, dtype=begun.dtype), begun), 1)
        return number, torch.cat((is_kept, torch.ones_like(begun, dtype=torch.bool)), 1)

    def _reach(self, number: Tensor, is_there: Tensor, steps: int) -> Reach:
        """Steps that each new step reads: those of its episode, at most ``kept`` steps back."""
        places = torch.arange(self.kept + steps, device=number.device)
        back = places[self.kept :].unsqueeze(1) - places
        is_near = (back >= 0) & (back <= self.kept)
        allowed = is_near & is_there.unsqueeze(1) & (number[:, self.kept :].unsqueeze(2) == number.unsqueeze(1))
        return Reach(allowed, back.clamp(0, self.kept))
