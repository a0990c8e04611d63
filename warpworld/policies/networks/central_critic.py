"""Networks of a policy whose critic reads what a whole team sees, and its actor what one agent does."""

from __future__ import annotations

from torch import Tensor, nn

from warpworld.policies.layers import POLICY_GAIN, VALUE_GAIN, in_float32, linear, run_layers
from warpworld.policies.recurrent import RecurrentNetwork


class CentralCritic:
    """Base of both networks: a critic that is a plain perceptron.

    Attributes:
        critic_layers: (..., numbers) -> (..., 1).
    """

    critic_layers: nn.Sequential

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.critic_layers[-1]

    def critic(self, inputs: Tensor) -> Tensor:
        """(..., numbers) float32 -> (...) float32."""
        return run_layers(self.critic_layers, inputs).squeeze(-1)


class ActorWithCritic(CentralCritic, nn.Module):
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
        rows = observations.reshape(-1, observations.shape[-1])
        return run_layers(self.actor_layers, rows).view(*observations.shape[:-1], -1)


class RecurrentActorWithCritic(CentralCritic, RecurrentNetwork):
    """Encoder -> recurrent cell -> linear actor; the critic reads other inputs, and remembers nothing.

    Attributes:
        actor_layer: (..., size) -> (..., num_outputs).
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, num_outputs: int, critic: nn.Sequential) -> None:
        """Arguments as those of ``RecurrentNetwork`` and ``ActorWithCritic``."""
        super().__init__(encoder, cell)
        self.actor_layer = linear(self.size, num_outputs, POLICY_GAIN)
        self.critic_layers = critic

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RecurrentNetwork``; values are 0, since what the critic reads is not here."""
        hidden, after = self.remember(observations, state)
        return in_float32(self.actor_layer, hidden), hidden.new_zeros(hidden.shape[:-1]), after

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (T, S, num_outputs) and values (T, S) of several steps.

        Args:
            observations: as those of ``unroll``, like the two that follow.
            state: see there.
            starts: see there.
            inputs: (T, S, numbers) float32, what the critic reads.
        """
        outputs = in_float32(self.actor_layer, self.unroll(observations, state, starts)[0])
        return outputs, self.critic(inputs)


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


class RecurrentActorAndCritic(RecurrentNetwork):
    """Encoder -> recurrent cell -> linear actor, and beside it a critic of other inputs with a memory of its own.

    While it acts, only the actor's memory advances: ``state_size`` is that of the actor. What is replayed begins with
    the states of both, the actor's first.

    Attributes:
        actor_layer: (..., size) -> (..., num_outputs).
        memory: the critic.
    """

    def __init__(self, encoder: nn.Module, cell: nn.Module, num_outputs: int, critic: CriticThatRemembers) -> None:
        """Arguments as those of ``RecurrentActorWithCritic``, but for the critic."""
        super().__init__(encoder, cell)
        self.actor_layer = linear(self.size, num_outputs, POLICY_GAIN)
        self.memory = critic

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.memory.layer

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RecurrentNetwork``; values are 0, since what the critic reads is not here."""
        hidden, after = self.remember(observations, state)
        return in_float32(self.actor_layer, hidden), hidden.new_zeros(hidden.shape[:-1]), after

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
        hidden, after = self.memory.remember(inputs, state)
        return self.memory.values(hidden), after

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Replay as ``RecurrentActorWithCritic.replay``; ``state`` holds the actor's, then the critic's."""
        of_actor, of_critic = state.split([self.state_size, self.memory.state_size], -1)
        outputs = in_float32(self.actor_layer, self.unroll(observations, of_actor, starts)[0])
        return outputs, self.memory.values(self.memory.unroll(inputs, of_critic, starts)[0])
