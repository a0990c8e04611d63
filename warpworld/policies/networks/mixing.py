"""Networks of teams: the values of what each agent does, and what mixes them into the value of what all do."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.policies.layers import HIDDEN_GAIN, in_float32, linear, run_layers
from warpworld.policies.networks.q_network import DuelingHeads, QNetwork, RecurrentQNetwork

HYPERNETWORK_GAIN = 0.01  # of what computes weights from a state


class Mixes:
    """Base of networks of teams, with a mixer that learning alone reads.

    Attributes:
        mixer: agents' values (..., N) and state (..., numbers) -> the team's (...).
    """

    mixer: nn.Module

    def mix(self, values: Tensor, takes_part: Tensor, state: Tensor) -> Tensor:
        """The team's value: (...) float32. An agent that takes no part adds nothing; a team of none has the value 0.

        Args:
            values: (..., N) float32, of what each agent does.
            takes_part: (..., N) bool.
            state: (..., numbers) float32.
        """
        mixed = self.mixer(torch.where(takes_part, values, 0.0), state)
        return torch.where(takes_part.any(-1), mixed, 0.0)


class TeamQNetwork(Mixes, QNetwork):
    """The agents' shared network, as a model's ``actor``, and a mixer."""

    def __init__(self, encoder: nn.Module, heads: DuelingHeads, mixer: nn.Module) -> None:
        super().__init__(encoder, heads)
        self.mixer = mixer


class RecurrentTeamQNetwork(Mixes, RecurrentQNetwork):
    """The agents' shared network with a memory for each of them, and a mixer."""

    def __init__(self, encoder: nn.Module, cell: nn.Module, heads: DuelingHeads, mixer: nn.Module) -> None:
        super().__init__(encoder, cell, heads)
        self.mixer = mixer


class Sum(nn.Module):
    """VDN's mixer (Sunehag et al. 2017, arXiv 1706.05296): the team's value is the sum of its agents'."""

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Implement ``Mixes``."""
        return values.sum(-1)


class MonotonicMixer(nn.Module):
    """QMIX's mixer (Rashid et al. 2018, arXiv 1803.11485): the team's value never falls as an agent's rises.

    With W1, b1, w2 and v computed from the state by networks of their own, Q_tot = elu(Q |W1| + b1) |w2| + v. At first
    these hardly depend on the state, and Q_tot is nearly elu(sum of Q): large states would give large values otherwise.

    Attributes:
        first, bias, second, base: the hypernetworks of W1, b1, w2 and v.

    Args:
        agents: N.
        state_size: numbers in a state.
        width: of the layer between; b1 and w2 have as many numbers, W1 has N times as many.
        hidden: width of the hidden layer of the hypernetworks of W1 and w2.
    """

    def __init__(self, agents: int, state_size: int, width: int, hidden: int) -> None:
        super().__init__()
        self._shape = agents, width
        self.first = _weights(state_size, hidden, agents * width, 1.0)
        self.bias = linear(state_size, width, HYPERNETWORK_GAIN)
        self.second = _weights(state_size, hidden, width, 1.0 / width)
        self.base = _weights(state_size, width, 1, 0.0)

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Implement ``Mixes``."""
        weights = run_layers(self.first, state).abs().unflatten(-1, self._shape)
        hidden = functional.elu((values.unsqueeze(-1) * weights).sum(-2) + in_float32(self.bias, state))
        second, base = run_layers(self.second, state), run_layers(self.base, state)
        return (hidden * second.abs()).sum(-1) + base.squeeze(-1)


def _weights(inputs: int, hidden: int, outputs: int, first: float) -> nn.Sequential:
    """A network of one hidden layer whose outputs are close to ``first`` before it learns."""
    last = linear(hidden, outputs, HYPERNETWORK_GAIN)
    nn.init.constant_(last.bias, first)
    return nn.Sequential(linear(inputs, hidden, HIDDEN_GAIN), nn.ReLU(), last)
