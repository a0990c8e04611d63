"""The networks of a policy that acts in a bounded Box and is judged by critics of its actions."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from warpworld.policies.layers import POLICY_GAIN, Ensemble, Layers, in_float32, linear

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0  # of the logarithms of squashed distributions, as in CleanRL


class ActorCritics(nn.Module):
    """An actor and critics that share no weights.

    Attributes:
        actor_layers: encoder and head, (rows, features) -> (rows, num_outputs).
        critics: see ``Critics``.

    Args:
        encoder: the model's, (rows, features) -> (rows, width).
        head: (rows, width) -> (rows, num_outputs).
        critics: see above.
    """

    def __init__(self, encoder: nn.Module, head: nn.Module, critics: Critics) -> None:
        super().__init__()
        self.actor_layers = nn.Sequential(encoder, head)
        self.critics = critics

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""
        rows = observations.reshape(-1, observations.shape[-1])
        return self.actor_layers(rows).view(*observations.shape[:-1], -1)

    def critic(self, inputs: Tensor, actions: Tensor) -> Tensor:
        """Value by the most doubtful critic: (..., features) and (..., size) from -1 to 1 -> (...) float32."""
        rows, taken = inputs.reshape(-1, inputs.shape[-1]), actions.reshape(-1, actions.shape[-1])
        return self.critics(rows, taken).amin(0).view(inputs.shape[:-1])


class Critics(nn.Module):
    """Values of an action by each of several critics.

    Behind a plain perceptron as encoder each critic is such a one itself, which reads features and action. Any other
    encoder has a copy here that all critics share; what they read of it goes through one more layer, with the action.

    Attributes:
        encoder: (rows, features) -> (rows, width); None where critics read features.
        ensemble: the critics.

    Args:
        count: of critics.
        encoder: the actor's.
        features: numbers that it reads.
        width: numbers that it gives.
        size: numbers in an action.
    """

    encoder: nn.Module | None

    def __init__(self, count: int, encoder: nn.Module, features: int, width: int, size: int) -> None:
        super().__init__()
        if isinstance(encoder, Layers):
            hidden = [layer.out_features for layer in encoder if isinstance(layer, nn.Linear)]
            kinds = [type(layer) for layer in encoder if not isinstance(layer, nn.Linear)]
            self.encoder, self.ensemble = None, Ensemble(count, (features + size, *hidden), *kinds[:1])
        else:
            self.encoder, self.ensemble = copy.deepcopy(encoder), Ensemble(count, (width + size, width))

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        """(rows, features) and (rows, size) from -1 to 1, both float32 -> (count, rows) float32."""
        seen = features if self.encoder is None else self.encoder(features)
        return self.ensemble(torch.cat((seen, actions), 1))


class TanhHead(nn.Module):
    """Actor's last layer: an encoder's features to an action from -1 to 1, (rows, width) -> (rows, size)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.means = linear(width, size, POLICY_GAIN)

    def forward(self, features: Tensor) -> Tensor:
        """Actions of ``features``: (rows, width) -> (rows, size), from -1 to 1."""
        return in_float32(self.means, features).tanh()


class SquashedHead(nn.Module):
    """Actor's last layer: features to means and log deviations, (rows, width) -> (rows, 2 * size).

    The latter lie between ``LOG_STD_MIN`` and ``LOG_STD_MAX``, by a tanh.
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.layer = linear(width, 2 * size, POLICY_GAIN)

    def forward(self, features: Tensor) -> Tensor:
        """Means and, behind them, log deviations of ``features``: (rows, width) -> (rows, 2 * size)."""
        means, log_stds = in_float32(self.layer, features).chunk(2, -1)
        middle, half = (LOG_STD_MAX + LOG_STD_MIN) / 2, (LOG_STD_MAX - LOG_STD_MIN) / 2
        return torch.cat((means, middle + half * log_stds.tanh()), -1)
