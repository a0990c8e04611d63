"""Networks of policies that act by values: an encoder, with or without a memory, and layers to all choices' values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from warpworld.policies.layers import VALUE_GAIN, in_float32, linear
from warpworld.policies.recurrent import RecurrentNetwork

if TYPE_CHECKING:
    from warpworld.policies.forwards import ValueForwards


class DuelingHeads(nn.Module):
    """Last layers of a Q network: an encoder's features to the values of the choices of all heads.

    Dueling (Wang et al. 2016, arXiv 1511.06581, equation 9): a head's values are the state's value plus each choice's
    advantage, less the mean of the head's advantages. All heads share the state's value (Tavakoli et al. 2018,
    arXiv 1711.08946).

    Attributes:
        advantages: (..., width) -> (..., num_outputs).
        value: (..., width) -> (..., 1); None without dueling, where ``advantages`` are the values.
    """

    def __init__(self, width: int, head_sizes: tuple[int, ...], dueling: bool) -> None:
        super().__init__()
        self.head_sizes = list(head_sizes)
        self.advantages = linear(width, sum(head_sizes), VALUE_GAIN)
        self.value = linear(width, 1, VALUE_GAIN) if dueling else None

    def forward(self, features: Tensor) -> Tensor:
        """(..., width) float32 -> (..., num_outputs) float32, head after head."""
        advantages = in_float32(self.advantages, features)
        if self.value is None:
            return advantages
        heads = [head - head.mean(-1, keepdim=True) for head in advantages.split(self.head_sizes, -1)]
        return in_float32(self.value, features) + torch.cat(heads, -1)


class QNetwork(nn.Module):
    """Encoder -> values of all choices, as a model's ``actor``.

    Attributes:
        encoder: (rows, features) -> (rows, width).
        heads: see ``DuelingHeads``.
        fused: runs both; None leaves that to torch. See ``warpworld.policies.fused``.
    """

    def __init__(self, encoder: nn.Module, heads: DuelingHeads) -> None:
        super().__init__()
        self.fused: ValueForwards | None = None
        self.encoder, self.heads = encoder, heads

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""
        if self.fused is not None and not observations.requires_grad:
            return self.fused.outputs(observations)
        rows = observations.reshape(-1, observations.shape[-1])
        return self.heads(self.encoder(rows)).view(*observations.shape[:-1], -1)


class RecurrentQNetwork(RecurrentNetwork):
    """Encoder -> recurrent cell -> values of all choices.

    Attributes:
        heads: see ``DuelingHeads``.
        fused: runs all of it; None leaves that to torch. See ``warpworld.policies.fused``.
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, heads: DuelingHeads) -> None:
        """Arguments as those of ``RecurrentNetwork``; the heads are as wide as the cell."""
        super().__init__(encoder, cell)
        self.fused: ValueForwards | None = None
        self.heads = heads

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RecurrentNetwork``."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.step(observations, state)
        hidden, after = self.remember(observations, state)
        return self.heads(hidden), hidden.new_zeros(hidden.shape[:-1]), after

    def walk(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Values of all choices in several steps, (T, S, choices), and the state after; arguments as ``unroll``'s."""
        if self.fused is not None and not (observations.requires_grad or state.requires_grad):
            return self.fused.walk(observations, state, starts)
        hidden, after = self.unroll(observations, state, starts)
        return self.heads(hidden), after


def of_choices(values: Tensor, actions: Tensor, head_sizes: Sequence[int]) -> Tensor:
    """The value of an action, which is the mean over its heads of the values of their choices: (...) float32.

    Args:
        values: (..., choices of all heads) float32, head after head.
        actions: (..., heads) integer.
        head_sizes: choices of each head.
    """
    heads = values.split(list(head_sizes), -1)
    chosen = actions.long().unsqueeze(-1).unbind(-2)
    return torch.stack([head.gather(-1, index).squeeze(-1) for head, index in zip(heads, chosen, strict=True)]).mean(0)
