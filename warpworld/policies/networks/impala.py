"""The model "impala": the residual convolutional network of IMPALA, for pictures and for parts beside them."""

from __future__ import annotations

from functools import partial

from gymnasium.spaces import Space
from torch import nn

from warpworld.environment import feature_shapes
from warpworld.policies.layers import (
    POLICY_GAIN,
    VALUE_GAIN,
    BranchEncoder,
    Width,
    check_hidden,
    linear,
    residual_convolutions,
)
from warpworld.policies.networks.separate import SeparateNetworks

ACTIVATION = "relu"  # behind each linear layer, as in the paper


class Impala(SeparateNetworks):
    """Actor and critic that share no weights: each an encoder with residual convolutions, and a linear layer.

    The encoder is the deep network of Espeholt et al. 2018 (arXiv 1802.01561, figure 3), which others call its ResNet:
    for each number of channels a convolution, pooling and two residual blocks, and a layer of ``branch_size`` behind
    them. A part without pixels goes through a linear layer.
    """

    def __init__(
        self,
        observation: Space,
        num_outputs: int,
        *,
        channels: tuple[Width, ...] = (16, 32, 32),
        branch_size: Width = 256,
        hidden_sizes: tuple[Width, ...] = (),
    ) -> None:
        """Build both networks on the CPU in float32, from torch's global generator.

        Args:
            observation: what one agent sees: a Dict or one space, of shapes (channels, pixels),
                (channels, height, width) and (numbers,).
            num_outputs: numbers that the action distribution takes.
            channels: of each section of convolutions, which halves height and width; may be empty.
            branch_size: numbers that each part's branch gives.
            hidden_sizes: width of each layer over all branches; may be empty.

        Raises:
            ConfigError: the observation has a part of another shape.
        """
        super().__init__()
        width = hidden_sizes[-1] if hidden_sizes else branch_size * len(feature_shapes(observation))

        def network(outputs: int, gain: float) -> nn.Sequential:
            encoder = self.encoder(observation, channels=channels, branch_size=branch_size, hidden_sizes=hidden_sizes)
            return nn.Sequential(encoder, linear(width, outputs, gain))

        self.actor_layers = network(num_outputs, POLICY_GAIN)
        self.critic_layers = network(1, VALUE_GAIN)

    @staticmethod
    def encoder(
        observation: Space, *, channels: tuple[int, ...], branch_size: int, hidden_sizes: tuple[int, ...]
    ) -> BranchEncoder:
        """Make the layers but the last one, from an observation to a recurrent cell's input; arguments as above."""
        check_hidden(hidden_sizes, ACTIVATION)
        return BranchEncoder(
            feature_shapes(observation),
            convolutions=partial(residual_convolutions, channels=channels),
            branch_size=branch_size,
            hidden_sizes=hidden_sizes,
            activation=ACTIVATION,
        )
