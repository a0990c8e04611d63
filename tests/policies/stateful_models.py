"""Models of one's own that declare a state, right ones and wrong ones."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.spaces import Box, flatdim
from torch import Tensor, nn


class Remembering(nn.Module):
    """A GRU, its state a tensor."""

    def __init__(self, observation: Box, num_outputs: int, *, width: int = 6) -> None:
        super().__init__()
        self.first, self.cell = nn.Linear(flatdim(observation), 8), nn.GRUCell(8, width)
        self.choice, self.worth = nn.Linear(width, num_outputs), nn.Linear(width, 1)

    def initial_state(self) -> Any:
        return torch.zeros(self.cell.hidden_size)

    def forward(self, observations: Tensor, state: Any) -> Any:
        hidden = self.cell(self.first(observations).tanh(), state)
        return self.choice(hidden), self.worth(hidden).squeeze(-1), hidden


class LongShort(Remembering):
    """An LSTM, its state a tuple."""

    def __init__(self, observation: Box, num_outputs: int, *, width: int = 6) -> None:
        super().__init__(observation, num_outputs, width=width)
        self.cell = nn.LSTMCell(8, width)

    def initial_state(self) -> Any:
        return torch.zeros(self.cell.hidden_size), torch.zeros(self.cell.hidden_size)

    def forward(self, observations: Tensor, state: Any) -> Any:
        hidden, cell = self.cell(self.first(observations).tanh(), state)
        return self.choice(hidden), self.worth(hidden).squeeze(-1), (hidden, cell)


class Recent(Remembering):
    """The last two observations, a step counter and a single number, in a dict; it writes into its state."""

    def __init__(self, observation: Box, num_outputs: int, *, width: int = 6) -> None:
        super().__init__(observation, num_outputs, width=width)
        self.seen = flatdim(observation)
        self.cell = nn.GRUCell(8 + 2 * self.seen + 2, width)

    def initial_state(self) -> Any:
        return {"seen": torch.zeros(2, self.seen), "steps": torch.zeros(1), "sum": torch.zeros(())}

    def forward(self, observations: Tensor, state: Any) -> Any:
        read = [state["seen"].flatten(1), state["steps"] / 8, state["sum"][:, None]]
        hidden = self.cell(torch.cat([self.first(observations).tanh(), *read], -1))
        state["steps"] += 1
        seen = torch.stack([state["seen"][:, 1], observations], 1)
        after = {"seen": seen, "steps": state["steps"], "sum": hidden.mean(-1)}
        return self.choice(hidden), self.worth(hidden).squeeze(-1), after


class Valueless(Remembering):
    """Values of choices alone."""

    def forward(self, observations: Tensor, state: Any) -> Any:
        hidden = self.cell(self.first(observations).tanh(), state)
        return self.choice(hidden), None, hidden


class Stubborn(Remembering):
    """Fails where torch follows it."""

    def forward(self, observations: Tensor, state: Any) -> Any:
        if torch.compiler.is_compiling():
            raise RuntimeError("no graphs here")
        return super().forward(observations, state)


# ---- wrong ones ------------------------------------------------------------------------------------------------------
class Declaring(Remembering):
    """Its state is what a test sets."""

    declared: Any = None

    def initial_state(self) -> Any:
        return type(self).declared


class Failing(Remembering):
    def initial_state(self) -> Any:
        raise KeyError("size")


class WithoutForward(nn.Module):
    def initial_state(self) -> Any:
        return torch.zeros(3)


class Attribute(Remembering):
    initial_state = 5  # type: ignore[assignment]


class Answering(Remembering):
    """It returns what a test makes of a right answer."""

    changed: Any = None

    def forward(self, observations: Tensor, state: Any) -> Any:
        return type(self).changed(*super().forward(observations, state))


class Growing(Remembering):
    """Its state grows by a number from the second call on."""

    calls = 0

    def forward(self, observations: Tensor, state: Any) -> Any:
        outputs, values, after = super().forward(observations, state[:, : self.cell.hidden_size])
        self.calls += 1
        grown = torch.cat([after, after[:, :1]], -1)
        return outputs, values, grown if self.calls > type(self).most else after

    most = 1


class Late(Growing):
    """Its state grows in the middle of a training."""

    most = 12
