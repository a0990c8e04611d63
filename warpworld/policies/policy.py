"""A policy: a model, what its outputs mean, and what it makes of raw observations."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from warpworld.policies.distributions import ActionDistribution
from warpworld.policies.normaliser import ObservationNormaliser


class Model(Protocol):
    """What a model is: a torch module with an actor and a critic.

    It is made with ``(observation, num_outputs, **settings)``: the gymnasium Box that one agent sees, or Dict of Boxes,
    how many numbers the action distribution takes, and, as keyword-only arguments, the other keys of the YAML file's
    ``model`` section, checked against their annotations. Weights are drawn from torch's global generator, which is
    seeded for it. What it is given is flat: a Box of several dimensions in their order, the parts of a Dict behind each
    other in the order of its keys.

    One that has ``encoder(observation, **settings)`` as well, a static or class method that gives a module
    (rows, features) -> (rows, width), can be made recurrent: the cell, actor and critic then stand behind that module.

    It has parameters, all of them float32 and at least one of them with ``requires_grad``; those without keep their
    values, and buffers may be anything. Modules are in eval mode throughout, while acting, learning and evaluating:
    dropout does nothing, and batch normalisation does not take its statistics from what it sees.
    """

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""

    def critic(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (...) float32, expected discounted return."""


class Policy(nn.Module):
    """What plays one or more groups.

    Attributes:
        model: the networks.
        distribution: of the actions.
        normaliser: applied to observations before the model reads them, or None.
    """

    def __init__(
        self, model: nn.Module, distribution: ActionDistribution, normaliser: ObservationNormaliser | None = None
    ) -> None:
        """Put the parts together; ``.to(device)`` moves all of them."""
        super().__init__()
        self.model = model
        self.distribution = distribution
        self.normaliser = normaliser

    def outputs(self, observations: Tensor) -> Tensor:
        """What the action distribution is made from: logits of all heads, or means.

        Args:
            observations: (..., features) float32, raw.

        Returns:
            (..., distribution.num_outputs) float32.
        """
        return self.model.actor(self._seen(observations))  # type: ignore[operator]

    def value(self, observations: Tensor) -> Tensor:
        """Expected discounted return.

        Args:
            observations: (..., features) float32, raw.

        Returns:
            (...) float32, in units of reward.
        """
        return self.model.critic(self._seen(observations))  # type: ignore[operator]

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """``outputs`` and ``value`` of (..., features) raw observations."""
        seen = self._seen(observations)
        return self.model.actor(seen), self.model.critic(seen)  # type: ignore[operator]

    def _seen(self, observations: Tensor) -> Tensor:
        return observations if self.normaliser is None else self.normaliser(observations)
