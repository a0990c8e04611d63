"""Actor and critic as two separate multi-layer perceptrons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from warpworld.errors import ConfigError, suggest

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}

HIDDEN_GAIN = math.sqrt(2.0)
POLICY_GAIN = 0.01  # logits start near zero, so that the first policy is close to uniform
VALUE_GAIN = 1.0


class ActorCritic(nn.Module):
    """A policy with discrete action heads, and a value function that shares no weights with it.

    Weights are orthogonal with gain sqrt(2) in hidden layers, 0.01 in the last layer of the actor and 1 in the last
    layer of the critic; biases are zero (Huang et al. 2022, "The 37 Implementation Details of PPO", detail 2).

    Attributes:
        observation_size: features of one observation, F.
        head_sizes: number of choices of each action head.
        actor: (..., F) -> (..., sum of head_sizes).
        critic: (..., F) -> (..., 1).
    """

    def __init__(
        self,
        observation_size: int,
        head_sizes: Sequence[int],
        hidden_sizes: Sequence[int],
        activation: str,
        generator: torch.Generator,
    ) -> None:
        """Build both networks on the CPU in float32; move them with ``.to(device)``.

        Args:
            observation_size: features of one observation.
            head_sizes: number of choices of each action head.
            hidden_sizes: width of each hidden layer; may be empty.
            activation: "tanh" or "relu".
            generator: CPU generator that the weights are drawn from. Torch's global one is neither read nor advanced.

        Raises:
            ConfigError: unknown activation, or a hidden layer without a unit.
        """
        super().__init__()
        self.observation_size = int(observation_size)
        self.head_sizes = tuple(int(size) for size in head_sizes)
        widths = (self.observation_size, *hidden_sizes)
        self.actor = _mlp((*widths, sum(self.head_sizes)), activation, POLICY_GAIN, generator)
        self.critic = _mlp((*widths, 1), activation, VALUE_GAIN, generator)

    def logits(self, observations: Tensor) -> Tensor:
        """Unnormalised log-probabilities of all heads, one head behind the other.

        Args:
            observations: (..., observation_size) float32.

        Returns:
            (..., sum of head_sizes) float32.
        """
        return self.actor(observations)

    def value(self, observations: Tensor) -> Tensor:
        """Expected discounted return.

        Args:
            observations: (..., observation_size) float32.

        Returns:
            (...) float32, in units of reward.
        """
        return self.critic(observations).squeeze(-1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """``logits`` and ``value`` of (..., observation_size) observations."""
        return self.logits(observations), self.value(observations)


def _mlp(widths: Sequence[int], activation: str, last_gain: float, generator: torch.Generator) -> nn.Sequential:
    """Linear layers of the given widths, inputs first, with an activation between each two."""
    if activation not in ACTIVATIONS:
        hint = suggest(str(activation), ACTIVATIONS)
        raise ConfigError(f"activation {activation!r}, expected one of {', '.join(ACTIVATIONS)}.{hint}")
    if any(width < 1 for width in widths):
        raise ConfigError(f"hidden_sizes {list(widths[1:-1])}, expected widths of at least 1")
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths[:-1]):
        layers += [_linear(inputs, outputs, HIDDEN_GAIN, generator), ACTIVATIONS[activation]()]
    layers.append(_linear(widths[-2], widths[-1], last_gain, generator))
    return nn.Sequential(*layers)


def _linear(inputs: int, outputs: int, gain: float, generator: torch.Generator) -> nn.Linear:
    """A linear layer with orthogonal weights from ``generator`` and zero biases."""
    layer: nn.Linear = nn.utils.skip_init(
        nn.Linear, inputs, outputs
    )  # nn.Linear() itself would use the global generator
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
