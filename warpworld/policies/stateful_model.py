"""A model of one's own with a memory: it declares a state, which the framework keeps for each agent."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn

from warpworld.errors import ConfigError, said
from warpworld.policies.declared_state import DeclaredState
from warpworld.policies.layers import widened
from warpworld.policies.recurrent import RememberingNetwork

ROWS = 3  # agents that a new model is tried with


class ModelWithState(Protocol):
    """Interface of a model with a memory; it is made with the same arguments as a ``Model``.

    Where an episode begins the state is zeroed before ``forward`` is called, in acting as in learning. Learning calls
    ``forward`` for one step of a rollout or a window after the other, so that gradients flow back through the states.
    """

    def initial_state(self) -> Any:
        """State of one agent: float32 zeros, as a tensor or as a tuple, list or dict of tensors. Called once."""

    def forward(self, observations: Tensor, state: Any) -> tuple[Tensor, Tensor | None, Any]:
        """Advance agents by one step.

        Args:
            observations: (agents, features) float32, as a ``Model`` reads them.
            state: before the step, in the form of ``initial_state`` with an axis of agents in front of each tensor.

        Returns:
            Outputs (agents, num_outputs), values (agents,), and the state after the step. Of an algorithm that learns
            the values of choices, these are the outputs, and what stands in second place is not read.
        """


class StatefulModel(RememberingNetwork):
    """A model that declares a state, as a policy's network.

    Attributes:
        model: the author's module, see ``ModelWithState``.

    Args:
        model: see above.
        name: of the model, for messages.
        features: numbers that it reads of one agent's observation.
        num_outputs: numbers that the action distribution takes.
        needs_values: whether the policy's algorithm reads values.

    Raises:
        ConfigError: the model does not do what such a model does.
    """

    def __init__(self, model: nn.Module, name: str, features: int, num_outputs: int, needs_values: bool) -> None:
        super().__init__()
        self.model = model
        self._name, self._num_outputs, self._needs_values = name, num_outputs, needs_values
        try:
            initial = model.initial_state()  # type: ignore[operator]
        except Exception as error:  # a model's own code may raise anything
            raise ConfigError(f"model '{name}': initial_state fails: {said(error)}") from error
        self._state = DeclaredState(initial, name)
        self.state_size = self._state.size
        self._try_out(features)

    @property
    def value_layer(self) -> nn.Module | None:
        """The critic's last layer, if the model names it."""
        return getattr(self.model, "value_layer", None)

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RememberingNetwork``."""
        lead = observations.shape[:-1]
        rows = observations.reshape(-1, observations.shape[-1])
        outputs, values, after = self._advanced(rows, state.reshape(-1, self.state_size))
        return outputs.view(*lead, -1), values.view(lead), after.view(*lead, -1)

    def critic(self, observations: Tensor) -> Tensor:
        """(..., features) float32, each the first of an episode -> (...) float32."""
        return self.step(observations, self.no_state(observations))[1]

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (T, S, num_outputs) and values (T, S) of several steps; arguments as those of ``unroll``."""
        outputs, values, _ = self._through(observations, state, starts)
        return outputs, values

    def unroll(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs after each of several steps, (T, S, num_outputs), and the state after the last, (S, state_size).

        Args:
            observations: (T, S, features) float32.
            state: (S, state_size) float32, before the first step.
            starts: (T, S) bool, where the state is zeroed before the step.
        """
        outputs, _, after = self._through(observations, state, starts)
        return outputs, after

    def walk(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """``unroll`` for a value-based algorithm, which takes outputs as values of choices."""
        return self.unroll(observations, state, starts)

    def _through(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs, values = [], []
        for seen, begins in zip(observations, starts.unsqueeze(-1), strict=True):
            said_now, worth, state = self._advanced(seen, state.masked_fill(begins, 0.0))
            outputs.append(said_now)
            values.append(worth)
        return torch.stack(outputs), torch.stack(values), state

    def _advanced(self, rows: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs (rows, num_outputs), values (rows,), 0 where none are read, and the state after, (rows, size)."""
        given = self.model(rows, self._state.unpacked(state))
        if not isinstance(given, tuple) or len(given) != 3:
            what = f"a tuple of {len(given)}" if isinstance(given, tuple) else type(given).__name__
            raise ConfigError(f"model '{self._name}': forward returned {what}, expected (outputs, values, state)")
        outputs, values, after = given
        outputs = self._checked("outputs", outputs, (len(rows), self._num_outputs), rows)
        if self._needs_values:
            values = self._checked("values", values, (len(rows),), rows)
        else:
            values = rows.new_zeros(len(rows))
        return outputs, values, self._state.packed(after, state)

    def _checked(self, what: str, given: Any, shape: tuple[int, ...], rows: Tensor) -> Tensor:
        """A tensor that ``forward`` returned, in the dtype of its input."""
        expected = f"expected {shape} {_dtype(rows)}"
        if not isinstance(given, Tensor):
            raise ConfigError(
                f"model '{self._name}': forward returned {what} of type {type(given).__name__}, {expected}"
            )
        wide = widened(given)
        if wide.shape != shape or wide.dtype != rows.dtype:
            raise ConfigError(
                f"model '{self._name}': forward returned {what} {tuple(given.shape)} {_dtype(given)}, {expected}"
            )
        return wide

    def _try_out(self, features: int) -> None:
        """Take two steps, the second from the state that the first returned."""
        rows, state = torch.zeros(ROWS, features), torch.zeros(ROWS, self.state_size)
        with torch.no_grad():
            for _ in range(2):
                try:
                    state = self._advanced(rows, state)[2]
                except ConfigError:
                    raise
                except Exception as error:
                    where = f"observations {tuple(rows.shape)} and the state that initial_state() declares"
                    raise ConfigError(f"model '{self._name}': forward fails on {where}: {said(error)}") from error


def author_of(network: nn.Module) -> nn.Module:
    """The module that an author wrote, for messages: without what keeps its state around it."""
    return network.model if isinstance(network, StatefulModel) else network


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
