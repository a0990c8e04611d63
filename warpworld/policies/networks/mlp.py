"""The model "mlp": actor and critic as two separate multi-layer perceptrons."""

from __future__ import annotations

from typing import Literal

from gymnasium.spaces import Space, flatdim

from warpworld.policies.layers import (
    POLICY_GAIN,
    VALUE_GAIN,
    Layers,
    Width,
    check_hidden,
    hidden_layers,
    perceptron,
)
from warpworld.policies.networks.separate import SeparateNetworks


class MLP(SeparateNetworks):
    """Actor and critic of fully connected layers, which share no weights.

    Weights are orthogonal with gain sqrt(2) in hidden layers, 0.01 in the last layer of the actor and 1 in the last
    layer of the critic; biases are zero (Huang et al. 2022, "The 37 Implementation Details of PPO", detail 2).
    """

    def __init__(
        self,
        observation: Space,
        num_outputs: int,
        critic_input: Space | None = None,
        *,
        hidden_sizes: tuple[Width, ...] = (64, 64),
        activation: Literal["tanh", "relu"] = "tanh",
    ) -> None:
        """Build both networks on the CPU in float32, from torch's global generator.

        Args:
            observation: what one agent sees.
            num_outputs: numbers that the action distribution takes.
            critic_input: what the critic reads; None for the observation.
            hidden_sizes: width of each hidden layer; may be empty.
            activation: between the layers: "tanh" or "relu".

        Raises:
            ConfigError: unknown activation, or a hidden layer without a unit.
        """
        super().__init__()
        check_hidden(hidden_sizes, activation)
        read = observation if critic_input is None else critic_input
        self.actor_layers = perceptron((flatdim(observation), *hidden_sizes, num_outputs), activation, POLICY_GAIN)
        self.critic_layers = perceptron((flatdim(read), *hidden_sizes, 1), activation, VALUE_GAIN)

    @staticmethod
    def encoder(observation: Space, *, hidden_sizes: tuple[int, ...], activation: str) -> Layers:
        """The hidden layers alone, from an observation to what a recurrent cell reads; arguments as above."""
        check_hidden(hidden_sizes, activation)
        return hidden_layers((flatdim(observation), *hidden_sizes), activation)
