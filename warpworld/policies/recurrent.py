"""Policies that remember: an encoder, a recurrent cell behind it, and heads that read the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from warpworld.errors import ConfigError
from warpworld.policies.distributions import ActionDistribution
from warpworld.policies.inputs import ObservationNormaliser, Preprocessing
from warpworld.policies.layers import POLICY_GAIN, VALUE_GAIN, Cell, in_float32, linear
from warpworld.policies.remembering import RememberingPolicy

if TYPE_CHECKING:
    from warpworld.policies.forwards import RecurrentForwards


class RememberingNetwork(nn.Module):
    """Base of networks with a state for each agent, which is zero where an episode begins.

    Attributes:
        state_size: numbers in one agent's state.
    """

    state_size: int

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advance each agent by one step.

        Args:
            observations: (..., features) float32.
            state: (..., state_size) float32, before the step; zeros where an episode begins.

        Returns:
            Outputs (..., num_outputs), values (...), 0 where there is no critic, and the state after the step,
            (..., state_size).
        """
        raise NotImplementedError

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32, each the first of an episode -> (..., num_outputs) float32."""
        return self.step(observations, self.no_state(observations))[0]

    def no_state(self, observations: Tensor) -> Tensor:
        """The state before the first step of an episode: (..., state_size)."""
        dtype = observations.dtype if observations.is_floating_point() else torch.float32
        return observations.new_zeros(*observations.shape[:-1], self.state_size, dtype=dtype)


class RecurrentNetwork(RememberingNetwork):
    """Encoder -> recurrent cell; what reads the cell is a subclass's own.

    Attributes:
        encoder: (rows, features) -> (rows, width).
        cell: see ``Cell``.
        size: width of what heads read of the cell.
        state_size: numbers in one agent's state: layer by layer ``size``, of an LSTM twice that, hidden state first.
    """

    cell: Cell

    def __init__(self, encoder: nn.Module, cell: nn.Module) -> None:
        """Put the parts together.

        Args:
            encoder: see above; from the model that is made recurrent.
            cell: that takes its width, from ``make_cell``.
        """
        super().__init__()
        self.encoder = encoder
        self.cell = cell  # type: ignore[assignment]
        self.size, self.state_size = self.cell.size, self.cell.state_size

    def remember(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs of heads, (..., size), and the state (..., state_size) after one step; arguments as ``step``'s."""
        lead = observations.shape[:-1]
        encoded = self.encoder(observations.reshape(-1, observations.shape[-1]))
        hidden, after = self.cell.step(encoded, state.reshape(-1, self.state_size))
        return hidden.view(*lead, -1), after.view(*lead, -1)

    def unroll(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Advance each of S agents through several steps, with the state zeroed where an episode begins.

        The encoder takes all steps at once.

        Args:
            observations: (T, S, features) float32.
            state: (S, state_size) float32, before the first step.
            starts: (T, S) bool, where the state is zeroed before the step.

        Returns:
            What heads read after each step, (T, S, size), and the state after the last, (S, state_size).
        """
        encoded = self.encoder(observations.flatten(0, 1)).unflatten(0, observations.shape[:2])
        return self.cell.unroll(encoded, state, starts)


class Recurrent(RecurrentNetwork):
    """Encoder -> recurrent cell -> linear actor and linear critic, which share all that stands before them.

    Attributes:
        actor_layer: (..., size) -> (..., num_outputs); it begins as in the model "mlp", and so does the critic.
        critic_layer: (..., size) -> (..., 1).
        fused: runs it where no gradient is asked for; None leaves that to torch. See ``warpworld.policies.fused``.
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, num_outputs: int) -> None:
        """Arguments as those of ``RecurrentNetwork``; ``num_outputs`` is how many the action distribution takes."""
        super().__init__(encoder, cell)
        self.fused: RecurrentForwards | None = None
        self.actor_layer = linear(self.size, num_outputs, POLICY_GAIN)
        self.critic_layer = linear(self.size, 1, VALUE_GAIN)

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.critic_layer

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RememberingNetwork``."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.step(observations, state)
        hidden, after = self.remember(observations, state)
        return *self._said(hidden), after

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (T, S, num_outputs) and values (T, S) of several steps; arguments as those of ``unroll``."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.replay(observations, state, starts)
        return self._said(self.unroll(observations, state, starts)[0])

    def critic(self, observations: Tensor) -> Tensor:
        """(..., features) float32, each the first of an episode -> (...) float32."""
        return self.step(observations, self.no_state(observations))[1]

    def _said(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return in_float32(self.actor_layer, hidden), in_float32(self.critic_layer, hidden).squeeze(-1)


class RecurrentPolicy(RememberingPolicy):
    """A policy whose model remembers; ``outputs``, ``value`` and ``forward`` are those of an episode's first step.

    Attributes:
        model: the network.
        state_size: numbers in one agent's state.
    """

    model: RememberingNetwork

    def __init__(
        self,
        model: RememberingNetwork,
        distribution: ActionDistribution,
        normaliser: ObservationNormaliser | None = None,
        preprocessing: Preprocessing | None = None,
        critic_input: Box | None = None,
    ) -> None:
        super().__init__(model, distribution, normaliser, critic_input, preprocessing)
        self.state_size = model.state_size

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``RememberingNetwork.step`` of raw observations, with values in units of reward."""
        outputs, values, after = self.model.step(self.read(observations), state)
        return outputs, self.in_rewards(values), after

    def values(self, observations: Tensor, state: Tensor) -> Tensor:
        """Values of raw observations, (...) in units of reward, by agents in these states, (..., state size)."""
        return self.step(observations, state)[1]

    def central_values(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Values of what a critic with a memory of its own reads, (...) in units of reward, by its states."""
        return self.in_rewards(self.model.critic_step(inputs, state)[0])  # type: ignore[operator]

    def replay(
        self, observations: Tensor, state: Tensor, starts: Tensor, critic_inputs: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Outputs and values of a replayed network with a critic; values are in units of ``value_scale``.

        Args:
            observations: (T, S, entries), rows.
            state: (S, state_size) float32; behind it the state of a critic that remembers other inputs.
            starts: (T, S) bool.
            critic_inputs: (T, S, numbers) float32, if the critic reads anything other than what the cell remembers.
        """
        read = () if critic_inputs is None else (critic_inputs,)
        return self.model.replay(self.read(observations), state, starts, *read)  # type: ignore[operator]


def check_encoder(cls: type[nn.Module], name: str, purpose: str = "made recurrent") -> None:
    """Refuse to put something behind the encoder of a model that has none.

    Raises:
        ConfigError: see above.
    """
    if not callable(getattr(cls, "encoder", None)):
        raise ConfigError(
            f"model '{name}' cannot be {purpose}: it has no encoder(observation, **settings), expected one that "
            "gives a module (rows, features) -> (rows, width); add it, or take another model"
        )


def encoded_width(encoder: nn.Module, features: int, name: str) -> int:
    """Numbers that an encoder gives for one observation.

    Raises:
        ConfigError: it gives something else than (rows, width) of float32.
    """
    rows = torch.zeros(3, features)
    with torch.no_grad():
        given = encoder(rows)
    if not isinstance(given, Tensor) or given.dim() != 2 or len(given) != 3 or given.dtype != torch.float32:
        what = f"{tuple(given.shape)} {given.dtype}" if isinstance(given, Tensor) else type(given).__name__
        raise ConfigError(
            f"model '{name}': its encoder gave {what} for observations (3, {features}), expected (3, width) of float32"
        )
    return given.shape[1]
