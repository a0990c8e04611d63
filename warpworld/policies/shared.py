"""A network whose actor and critic share all layers but their last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from warpworld.policies.layers import POLICY_GAIN, VALUE_GAIN, in_float32, linear

if TYPE_CHECKING:
    from warpworld.policies.forwards import Forwards


class Shared(nn.Module):
    """Encoder -> linear actor and linear critic.

    Attributes:
        encoder: (rows, features) -> (rows, width).
        actor_layer: (..., width) -> (..., num_outputs); it begins as in the model "mlp", and so does the critic.
        critic_layer: (..., width) -> (..., 1).
        fused: runs both where no gradient is asked for; None leaves that to torch. See ``warpworld.policies.fused``.

    Args:
        encoder: see above; the model's.
        width: numbers that it gives.
        num_outputs: numbers that the action distribution takes.
    """

    def __init__(self, encoder: nn.Module, width: int, num_outputs: int) -> None:
        super().__init__()
        self.fused: Forwards | None = None
        self.encoder = encoder
        self.actor_layer = linear(width, num_outputs, POLICY_GAIN)
        self.critic_layer = linear(width, 1, VALUE_GAIN)

    @property
    def value_layer(self) -> nn.Module:
        """The critic's last layer."""
        return self.critic_layer

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.outputs(observations)
        return in_float32(self.actor_layer, self._encoded(observations))

    def critic(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (...) float32."""
        if self.fused is not None and not torch.is_grad_enabled():
            return self.fused.value(observations)
        return in_float32(self.critic_layer, self._encoded(observations)).squeeze(-1)

    def both(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs of actor and critic, from one pass through the encoder."""
        encoded = self._encoded(observations)
        return in_float32(self.actor_layer, encoded), in_float32(self.critic_layer, encoded).squeeze(-1)

    def _encoded(self, observations: Tensor) -> Tensor:
        rows = observations.reshape(-1, observations.shape[-1])
        return self.encoder(rows).view(*observations.shape[:-1], -1)
