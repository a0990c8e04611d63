"""Recurrent cells: an LSTM, a GRU, a minimal GRU, and stacks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.policies.layers.bf16_layer import bf16_layer
from warpworld.policies.layers.bf16_products import takes_bf16
from warpworld.policies.layers.dense import linear
from warpworld.policies.layers.gated_mean import RunningMeans, gated_mean
from warpworld.policies.layers.precision import is_reduced, widened

LONGEST = 128.0  # steps that a number of a new mingru lasts at most


class Cell(Protocol):
    """A cell with memory.

    Attributes:
        size: width of what heads read of it.
        state_size: numbers in one agent's state; of several layers, their states behind each other.
    """

    size: int
    state_size: int

    def step(self, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance one step: (rows, width) and (rows, state_size) -> (rows, size), and the state after it."""

    def unroll(self, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Advance each of S agents through several steps.

        Args:
            encoded: (T, S, width) float32.
            state: (S, state_size) float32, before the first step.
            starts: (T, S) bool, where the state is zeroed before the step.

        Returns:
            (T, S, size) after each step, and the state after the last, (S, state_size).
        """


def _through(
    layers: nn.ModuleList,
    encoded: Tensor,
    state: Tensor,
    advance: Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> tuple[Tensor, Tensor]:
    """Advance layers of which each reads the hidden state of the one before.

    Args:
        layers: of one kind and size.
        encoded: (..., width), what the first layer reads.
        state: (rows, state_size), the layers' states behind each other, in equal parts.
        advance: takes a layer, what it reads, and its part of the state; gives its hidden state, and that part after.

    Returns:
        Hidden state of the last layer, and the layers' states after, (rows, state_size).
    """
    hidden, after = encoded, []
    for layer, before in zip(layers, state.chunk(len(layers), -1), strict=True):
        hidden, last = advance(layer, hidden, before)
        after.append(last)
    return hidden, torch.cat(after, -1)


class _SteppedCell(nn.Module):
    """torch's cells, one step after the other: on a CPU quicker than one LSTM over pieces cut where episodes begin.

    Weights are orthogonal with gain 1 and biases zero (Huang et al. 2022, "The 37 Implementation Details of PPO",
    LSTM detail 1).
    """

    hidden_size: int

    def draw_weights(self) -> None:
        """Draw the weights from torch's global generator."""
        for name, parameter in self.named_parameters():
            if name.startswith("weight"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

    def step(self, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        parts = self.advanced(encoded, state.split(self.hidden_size, -1))
        return parts[0], torch.cat(list(parts), -1)

    def unroll(self, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        parts, hidden = state.split(self.hidden_size, -1), []
        for seen, begins in zip(encoded, starts.unsqueeze(-1), strict=True):
            parts = self.advanced(seen, [part.masked_fill(begins, 0.0) for part in parts])
            hidden.append(parts[0])
        return torch.stack(hidden), torch.cat(list(parts), -1)

    def advanced(self, encoded: Tensor, parts: Sequence[Tensor]) -> Sequence[Tensor]:
        """The parts of the state after a step: (rows, size) each, hidden state first."""
        raise NotImplementedError


def _products(cell: nn.RNNCellBase, encoded: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """Both products of a step, for bfloat16: torch's own step would round the state with them on a GPU.

    (rows, width) and (rows, size) -> twice (rows, gates * size) float32, in torch's order of gates.
    """
    of_input = functional.linear(encoded, cell.weight_ih, cell.bias_ih)
    of_hidden = functional.linear(hidden, cell.weight_hh, cell.bias_hh)
    return widened(of_input), widened(of_hidden)


class LSTM(_SteppedCell, nn.LSTMCell):
    """An LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__(width, size)
        self.size, self.state_size = size, 2 * size
        self.draw_weights()

    def advanced(self, encoded: Tensor, parts: Sequence[Tensor]) -> Sequence[Tensor]:
        """Implement ``_SteppedCell``."""
        hidden, memory = parts
        if not is_reduced(encoded):
            return self(encoded, (hidden, memory))
        of_input, of_hidden = _products(self, encoded, hidden)
        into, forget, cell, out = (of_input + of_hidden).chunk(4, -1)
        memory = forget.sigmoid() * memory + into.sigmoid() * cell.tanh()
        return out.sigmoid() * memory.tanh(), memory


class GRU(_SteppedCell, nn.GRUCell):
    """A GRU (Cho et al. 2014)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__(width, size)
        self.size, self.state_size = size, size
        self.draw_weights()

    def advanced(self, encoded: Tensor, parts: Sequence[Tensor]) -> Sequence[Tensor]:
        """Implement ``_SteppedCell``."""
        (hidden,) = parts
        if not is_reduced(encoded):
            return (self(encoded, hidden),)
        of_input, of_hidden = _products(self, encoded, hidden)
        both = 2 * self.size
        reset, update = (of_input[:, :both] + of_hidden[:, :both]).sigmoid().chunk(2, -1)
        new = (of_input[:, both:] + reset * of_hidden[:, both:]).tanh()
        return (torch.lerp(new, hidden, update),)


class CellStack(nn.Module):
    """Several LSTMs or GRUs, the first of which reads the encoder, as in torch.nn.LSTM and torch.nn.GRU.

    Attributes:
        layers: the cells, each with a state of its own.
    """

    def __init__(self, make: Callable[[int, int], nn.Module], width: int, size: int, num_layers: int) -> None:
        """Make the layers by ``make``, which takes a width and a size."""
        super().__init__()
        self.layers = nn.ModuleList(make(size if i else width, size) for i in range(num_layers))
        self.size, self.state_size = size, sum(_cell(layer).state_size for layer in self.layers)

    def step(self, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        return _through(self.layers, encoded, state, lambda layer, x, before: _cell(layer).step(x, before))

    def unroll(self, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        return _through(self.layers, encoded, state, lambda layer, x, before: _cell(layer).unroll(x, before, starts))


def _cell(layer: nn.Module) -> Cell:
    """The layer, of which ``nn.ModuleList`` knows only that it is a module."""
    return cast("Cell", layer)


class Stepper(Protocol):
    """Kernels that run a step of a ``MinGRU`` in place of torch, without gradient."""

    def takes_step(self, encoded: Tensor, state: Tensor) -> bool:
        """Whether ``step`` computes these."""

    def step(self, cell: MinGRU, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """``Cell.step`` by the cell's present weights."""


class MinGRU(nn.Module):
    """A minimal GRU (Feng et al. 2024, arXiv 2410.01201, section 3.1), in one or more layers.

    Its gates read the input alone, so that all steps' products with weights are one, and what goes from step to step is
    a running mean: z = sigmoid(W_z x + b_z), c = W_c x + b_c, h = (1 - z) * h + z * c. The next layer reads h.

    Attributes:
        layers: (..., inputs) -> (..., 2 * size) each: gates before the sigmoid, and candidates.
        native: computes the running mean; None leaves it to torch.
        stepper: computes a step where no gradient is asked for; None leaves that to torch.
    """

    native: RunningMeans | None = None
    stepper: Stepper | None = None

    def __init__(self, width: int, size: int, num_layers: int = 1) -> None:
        """Weights of gates and candidates are orthogonal with gain 1, as those of the other cells.

        Biases of candidates are zero. Those of gates are drawn so that a layer's numbers last for 2 to ``LONGEST``
        steps at first (Tallec and Ollivier 2018, arXiv 1804.11188): with biases of zero each would halve what it
        remembers in every step, and gradients over some twenty steps would vanish.
        """
        super().__init__()
        self.size, self.state_size = size, num_layers * size
        self.layers = nn.ModuleList(_gate_and_candidate(size if i else width, size) for i in range(num_layers))

    def step(self, encoded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        if self.stepper is not None and self.stepper.takes_step(encoded, state):
            return self.stepper.step(self, encoded, state)
        return _through(self.layers, encoded, state, _stepped)

    def unroll(self, encoded: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Implement ``Cell``."""
        starts = starts.contiguous()

        def advance(layer: nn.Module, hidden: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
            said = _said(layer, hidden)
            if self.native is None or said.dtype not in self.native.dtypes:
                said = widened(said)
            hidden = gated_mean(said, before, starts, self.native)
            return hidden, hidden[-1]

        return _through(self.layers, encoded, state, advance)


def _stepped(layer: nn.Module, hidden: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden state of a layer after a step, twice: it is the whole state."""
    gates, candidates = widened(layer(hidden)).chunk(2, -1)
    hidden = torch.lerp(before, candidates, gates.sigmoid())
    return hidden, hidden


def _said(layer: nn.Module, hidden: Tensor) -> Tensor:
    """``layer(hidden)``, on a GPU in bfloat16 the quicker way."""
    assert isinstance(layer, nn.Linear)
    is_quick = takes_bf16(hidden, layer.weight)
    return bf16_layer(hidden, layer.weight, layer.bias, "none") if is_quick else layer(hidden)


def _gate_and_candidate(inputs: int, size: int) -> nn.Linear:
    layer = linear(inputs, 2 * size, 1.0)
    for part in layer.weight.data.split(size):
        nn.init.orthogonal_(part)
    layer.bias.data[:size] = -torch.empty(size).uniform_(1.0, LONGEST - 1.0).log()
    return layer
