"""The model "mlp": actor and critic as two separate multi-layer perceptrons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from gymnasium.spaces import Box, flatdim
from pydantic import Field
from torch import Tensor, nn

from warpworld.errors import ConfigError, suggest
from warpworld.policies.linear_tanh import run_layers

if TYPE_CHECKING:
    from warpworld.policies.fused import FusedNetworks

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}

HIDDEN_GAIN = math.sqrt(2.0)
POLICY_GAIN = 0.01  # outputs start near zero, so that the first policy is close to uniform
VALUE_GAIN = 1.0

Width = Annotated[int, Field(ge=1)]


class MLP(nn.Module):
    """Two networks that share no weights.

    Weights are orthogonal with gain sqrt(2) in hidden layers, 0.01 in the last layer of the actor and 1 in the last
    layer of the critic; biases are zero (Huang et al. 2022, "The 37 Implementation Details of PPO", detail 2).

    Attributes:
        actor_layers: (..., features) -> (..., num_outputs).
        critic_layers: (..., features) -> (..., 1).
        fused: runs both where no gradient is asked for; None leaves that to torch. See ``warpworld.policies.fused``.
    """

    def __init__(
        self,
        observation: Box,
        num_outputs: int,
        *,
        hidden_sizes: tuple[Width, ...] = (64, 64),
        activation: Literal["tanh", "relu"] = "tanh",
    ) -> None:
        """Build both networks on the CPU in float32, from torch's global generator.

        Args:
            observation: what one agent sees.
            num_outputs: numbers that the action distribution takes.
            hidden_sizes: width of each hidden layer; may be empty.
            activation: between the layers: "tanh" or "relu".

        Raises:
            ConfigError: unknown activation, or a hidden layer without a unit.
        """
        super().__init__()
        self.fused: FusedNetworks | None = None
        if activation not in ACTIVATIONS:
            hint = suggest(str(activation), ACTIVATIONS)
            raise ConfigError(f"activation {activation!r}, expected one of {', '.join(ACTIVATIONS)}.{hint}")
        if any(width < 1 for width in hidden_sizes):
            raise ConfigError(f"hidden_sizes {list(hidden_sizes)}, expected widths of at least 1")
        widths = (flatdim(observation), *hidden_sizes)
        self.actor_layers = _layers((*widths, num_outputs), activation, POLICY_GAIN)
        self.critic_layers = _layers((*widths, 1), activation, VALUE_GAIN)

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.outputs(observations)
        return run_layers(self.actor_layers, observations)

    def critic(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (...) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.value(observations)
        return run_layers(self.critic_layers, observations).squeeze(-1)


def _layers(widths: Sequence[int], activation: str, last_gain: float) -> nn.Sequential:
    """Linear layers of the given widths, inputs first, with an activation between each two."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths[:-1]):
        layers += [_linear(inputs, outputs, HIDDEN_GAIN), ACTIVATIONS[activation]()]
    layers.append(_linear(widths[-2], widths[-1], last_gain))
    return nn.Sequential(*layers)


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer with orthogonal weights and zero biases."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
