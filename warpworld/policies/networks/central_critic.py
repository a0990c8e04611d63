"""Networks of a policy whose critic reads what a whole team sees, and its actor what one agent does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from warpworld.policies.layers import POLICY_GAIN, VALUE_GAIN, in_float32, linear, run_layers
from warpworld.policies.networks.separate import SeparateNetworks
from warpworld.policies.recurrent import RecurrentNetwork

if TYPE_CHECKING:
    from warpworld.policies.forwards import CentralForwards


class ActorWithCritic(SeparateNetworks):
    """An actor, and a critic of its own which reads other inputs.

    Attributes:
        actor_layers: encoder and head, (rows, features) -> (rows, num_outputs).

    Args:
        encoder: the model's, (rows, features) -> (rows, width).
        width: see above.
        num_outputs: numbers that the action distribution takes.
        critic: the layers of the critic.
    """

    def __init__(self, encoder: nn.Module, width: int, num_outputs: int, critic: nn.Sequential) -> None:
        super().__init__()
        self.actor_layers = nn.Sequential(encoder, linear(width, num_outputs, POLICY_GAIN))
        self.critic_layers = critic

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.outputs(observations)
        rows = observations.reshape(-1, observations.shape[-1])
        return run_layers(self.actor_layers, rows).view(*observations.shape[:-1], -1)


class RecurrentActor(RecurrentNetwork):
    """Base of networks with a central critic: encoder -> recurrent cell -> linear actor.

    While it acts, only the actor's memory advances: ``state_size`` is that of the actor.

    Attributes:
        actor_layer: (..., size) -> (..., num_outputs).
        fused: runs it, and the critic, where no gradient is asked for; None leaves that to torch.
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, num_outputs: int) -> None:
        """Arguments as those of ``Recurrent``."""
        super().__init__(encoder, cell)
        self.fused: CentralForwards | None = None
        self.actor_layer = linear(self.size, num_outputs, POLICY_GAIN)

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RecurrentNetwork``; values are 0, since what the critic reads is not here."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.step(observations, state)
        hidden, after = self.remember(observations, state)
        return in_float32(self.actor_layer, hidden), hidden.new_zeros(hidden.shape[:-1]), after

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (T, S, num_outputs) and values (T, S) of several steps.

        Args:
            observations: as those of ``unroll``, like ``starts``.
            state: (S, numbers) of the actor, and behind them those of a critic with a memory.
            starts: see there.
            inputs: (T, S, numbers) float32, what the critic reads.
        """
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.replay(observations, state, starts, inputs)
        of_actor, of_critic = state.tensor_split([self.state_size], -1)
        outputs = in_float32(self.actor_layer, self.unroll(observations, of_actor, starts)[0])
        return outputs, self.replayed_values(inputs, of_critic, starts)

    def replayed_values(self, inputs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Values (T, S) of several steps; arguments as those of ``replay``, ``state`` that of the critic alone."""
        raise NotImplementedError


class RecurrentActorWithCritic(RecurrentActor):
    """An actor with a memory; the critic reads other inputs, and remembers nothing.

    Attributes:
        critic_layers: (..., numbers) -> (..., 1).
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, num_outputs: int, critic: nn.Sequential) -> None:
        """Arguments as those of ``RecurrentActor`` and ``ActorWithCritic``."""
        super().__init__(encoder, cell, num_outputs)
        self.critic_layers = critic

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.critic_layers[-1]

    def critic(self, inputs: Tensor) -> Tensor:
        """(..., numbers) float32 -> (...) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.value(inputs)
        return run_layers(self.critic_layers, inputs).squeeze(-1)

    def replayed_values(self, inputs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Implement ``RecurrentActor``."""
        return self.critic(inputs)


class CriticThatRemembers(RecurrentNetwork):
    """Perceptron -> recurrent cell -> value.

    Attributes:
        layer: (..., size) -> (..., 1).
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module) -> None:
        """Arguments as those of ``RecurrentNetwork``."""
        super().__init__(encoder, cell)
        self.layer = linear(self.size, 1, VALUE_GAIN)

    def values(self, hidden: Tensor) -> Tensor:
        """(..., size) float32 -> (...) float32."""
        return in_float32(self.layer, hidden).squeeze(-1)


class RecurrentActorAndCritic(RecurrentActor):
    """An actor with a memory, and beside it a critic of other inputs with a memory of its own.

    What is replayed begins with the states of both, the actor's first.

    Attributes:
        memory: the critic.
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, num_outputs: int, critic: CriticThatRemembers) -> None:
        """Arguments as those of ``RecurrentActor``, and the critic."""
        super().__init__(encoder, cell, num_outputs)
        self.memory = critic

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.memory.layer

    def critic(self, inputs: Tensor) -> Tensor:
        """(..., numbers) float32, each the first of an episode -> (...) float32."""
        return self.critic_step(inputs, self.memory.no_state(inputs))[0]

    def critic_step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance the critic by one step.

        Args:
            inputs: (..., numbers) float32.
            state: (..., critic's state size) float32, before the step.

        Returns:
            Values (...), and the state after the step, (..., critic's state size).
        """
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.critic_step(inputs, state)
        hidden, after = self.memory.remember(inputs, state)
        return self.memory.values(hidden), after

    def replayed_values(self, inputs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Implement ``RecurrentActor``."""
        return self.memory.values(self.memory.unroll(inputs, state, starts)[0])
