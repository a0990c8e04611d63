"""Base of models whose actor and critic share no weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from warpworld.policies.layers import run_layers

if TYPE_CHECKING:
    from warpworld.policies.forwards import Forwards


class SeparateNetworks(nn.Module):
    """An actor and a critic, each layers in a row.

    Attributes:
        actor_layers: (..., features) -> (..., num_outputs).
        critic_layers: (..., features of what the critic reads) -> (..., 1).
        fused: runs both where no gradient is asked for; None leaves that to torch. See ``warpworld.policies.fused``.
    """

    actor_layers: nn.Sequential
    critic_layers: nn.Sequential

    def __init__(self) -> None:
        super().__init__()
        self.fused: Forwards | None = None

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.critic_layers[-1]

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.outputs(observations)
        return run_layers(self.actor_layers, observations)

    def critic(self, inputs: Tensor) -> Tensor:
        """(..., features) float32 -> (...) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.value(inputs)
        return run_layers(self.critic_layers, inputs).squeeze(-1)
