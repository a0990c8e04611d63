"""The model "multi_input": for observations of several named parts, some of them with pixels."""

from __future__ import annotations

from functools import partial
from typing import Literal

from gymnasium.spaces import Space
from torch import nn

from warpworld.environment import feature_shapes
from warpworld.errors import ConfigError
from warpworld.policies.layers import (
    POLICY_GAIN,
    VALUE_GAIN,
    BranchEncoder,
    Width,
    check_hidden,
    linear,
    plain_convolutions,
)
from warpworld.policies.networks.separate import SeparateNetworks


class MultiInput(SeparateNetworks):
    """Actor and critic that share no weights: each an encoder with a branch for each part, and a linear layer.

    Weights are orthogonal with gain sqrt(2), but 0.01 in the last layer of the actor and 1 in that of the critic;
    biases are zero, as in the model "mlp".
    """

    def __init__(
        self,
        observation: Space,
        num_outputs: int,
        *,
        channels: tuple[Width, ...] = (32, 64),
        kernel_sizes: tuple[Width, ...] = (8, 4),
        strides: tuple[Width, ...] = (4, 2),
        branch_size: Width = 64,
        hidden_sizes: tuple[Width, ...] = (128,),
        activation: Literal["tanh", "relu"] = "relu",
    ) -> None:
        """Build both networks on the CPU in float32, from torch's global generator.

        Args:
            observation: what one agent sees: a Dict or one space, of shapes (channels, pixels),
                (channels, height, width) and (numbers,).
            num_outputs: numbers that the action distribution takes.
            channels: of each convolution over pixels; may be empty.
            kernel_sizes: of each convolution, pixels; of a picture, in height and width.
            strides: of each convolution, pixels; the same.
            branch_size: numbers that each part's branch gives.
            hidden_sizes: width of each layer over all branches; may be empty.
            activation: behind each layer: "tanh" or "relu".

        Raises:
            ConfigError: the settings do not go together, or not with the observation.
        """
        super().__init__()
        settings = dict(channels=channels, kernel_sizes=kernel_sizes, strides=strides, branch_size=branch_size)
        width = hidden_sizes[-1] if hidden_sizes else branch_size * len(feature_shapes(observation))

        def network(outputs: int, gain: float) -> nn.Sequential:
            encoder = self.encoder(observation, **settings, hidden_sizes=hidden_sizes, activation=activation)  # type: ignore[arg-type]
            return nn.Sequential(encoder, linear(width, outputs, gain))

        self.actor_layers = network(num_outputs, POLICY_GAIN)
        self.critic_layers = network(1, VALUE_GAIN)

    @staticmethod
    def encoder(
        observation: Space,
        *,
        channels: tuple[int, ...],
        kernel_sizes: tuple[int, ...],
        strides: tuple[int, ...],
        branch_size: int,
        hidden_sizes: tuple[int, ...],
        activation: str,
    ) -> BranchEncoder:
        """Make the layers but the last one, from an observation to a recurrent cell's input; arguments as above."""
        check_hidden(hidden_sizes, activation)
        if not len(channels) == len(kernel_sizes) == len(strides):
            raise ConfigError(
                f"model 'multi_input': channels {list(channels)}, kernel_sizes {list(kernel_sizes)} and strides "
                f"{list(strides)}, expected equally many of each: one for each convolution"
            )
        kernels = list(zip(channels, kernel_sizes, strides, strict=True))
        return BranchEncoder(
            feature_shapes(observation),
            convolutions=partial(plain_convolutions, kernels=kernels, activation=activation),
            branch_size=branch_size,
            hidden_sizes=hidden_sizes,
            activation=activation,
        )
