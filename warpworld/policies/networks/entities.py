"""The model "entities": attention over lists of entities, for observations that declare such."""

from __future__ import annotations

from typing import Literal

from gymnasium.spaces import Space
from torch import nn

from warpworld.environment import EntityBox
from warpworld.errors import ConfigError
from warpworld.policies.layers import POLICY_GAIN, VALUE_GAIN, EntityEncoder, Width, check_hidden, linear
from warpworld.policies.networks.separate import SeparateNetworks


class Entities(SeparateNetworks):
    """Actor and critic that share no weights: each an ``EntityEncoder``, and a linear layer.

    Weights are orthogonal with gain sqrt(2) in embeddings and hidden layers, 1 in the attention, 0.01 in the last layer
    of the actor and 1 in that of the critic; biases are zero, as in the model "mlp".
    """

    def __init__(
        self,
        observation: Space,
        num_outputs: int,
        *,
        entity_size: Width = 32,
        heads: Width = 2,
        hidden_sizes: tuple[Width, ...] = (64,),
        activation: Literal["tanh", "relu"] = "tanh",
    ) -> None:
        """Build both networks on the CPU in float32, from torch's global generator.

        Args:
            observation: what one agent sees, an ``EntityBox``.
            num_outputs: numbers that the action distribution takes.
            entity_size: width of the embedding of the agent and of each entity.
            heads: of the attention; a divisor of ``entity_size``.
            hidden_sizes: width of each layer behind the attention; may be empty.
            activation: behind each of these layers: "tanh" or "relu".

        Raises:
            ConfigError: the observation declares no lists of entities, or the settings do not go together.
        """
        super().__init__()
        settings = dict(entity_size=entity_size, heads=heads, hidden_sizes=hidden_sizes, activation=activation)
        width = hidden_sizes[-1] if hidden_sizes else 2 * entity_size

        def network(outputs: int, gain: float) -> nn.Sequential:
            return nn.Sequential(self.encoder(observation, **settings), linear(width, outputs, gain))  # type: ignore[arg-type]

        self.actor_layers = network(num_outputs, POLICY_GAIN)
        self.critic_layers = network(1, VALUE_GAIN)

    @staticmethod
    def encoder(
        observation: Space, *, entity_size: int, heads: int, hidden_sizes: tuple[int, ...], activation: str
    ) -> EntityEncoder:
        """Make the layers but the last one, from an observation to a recurrent cell's input; arguments as above."""
        check_hidden(hidden_sizes, activation)
        if not isinstance(observation, EntityBox):
            raise ConfigError(
                f"model 'entities': the observation is {observation}, expected an EntityBox, which declares lists of "
                "entities; take model.type=mlp, or declare the lists in the environment"
            )
        if entity_size % heads:
            raise ConfigError(f"model 'entities': {heads} heads, expected a divisor of entity_size {entity_size}")
        return EntityEncoder(observation.shape[0], observation.lists, entity_size, heads, hidden_sizes, activation)
