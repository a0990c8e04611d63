"""A policy: a model, what its outputs mean, and what it makes of raw observations."""

from __future__ import annotations

from typing import Protocol

from gymnasium.spaces import Box
from torch import Tensor, nn

from warpworld.policies.distributions import ActionDistribution
from warpworld.policies.normaliser import ObservationNormaliser
from warpworld.policies.preprocessing import Preprocessing


class Model(Protocol):
    """What a model is: a torch module with an actor, and a critic where the policy's algorithm needs one.

    It is made with ``(observation, num_outputs, **settings)``: the gymnasium space of what one agent sees, how many
    numbers the action distribution takes, and, as keyword-only arguments, the other keys of the YAML file's ``model``
    section, checked against their annotations. Weights are drawn from torch's global generator, which is seeded for it.
    What it is given is flat float32: a Box of several dimensions in their order, one of uint8 divided by 255; a
    Discrete or MultiDiscrete as one-hot vectors; a MultiBinary as 0 and 1; the parts of a Dict behind each other in the
    order of its keys. So an observation has ``gymnasium.spaces.flatdim(observation)`` features.

    For a group that names a ``critic_input`` it is made with ``(observation, num_outputs, critic_input, **settings)``:
    the Box of what the critic reads in place of observations. A critic of actions takes them as its second argument.

    One that has ``encoder(observation, **settings)`` as well, a static or class method that gives a module
    (rows, features) -> (rows, width), can be made recurrent: the cell, actor and critic then stand behind that module.

    It has parameters, all of them float32 and at least one of them with ``requires_grad``; those without keep their
    values, and buffers may be anything. Modules are in eval mode throughout, while acting, learning and evaluating:
    dropout does nothing, and batch normalisation does not take its statistics from what it sees.
    """

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""

    def critic(self, inputs: Tensor) -> Tensor:
        """(..., features) float32 -> (...) float32, expected discounted return."""


class Policy(nn.Module):
    """What plays one or more groups.

    It reads rows of observations as rollouts keep them, see ``ObservationRows``: (..., features) float32, or
    (..., bytes) uint8 where parts of what agents see are no floats.

    Attributes:
        model: the networks.
        distribution: of the actions.
        normaliser: applied to floats of observations before the model reads them, or None.
        critic_input: what the critic reads; None where that is the observations.
        preprocessing: makes features of rows of bytes; None where rows are features.
    """

    def __init__(
        self,
        model: nn.Module,
        distribution: ActionDistribution,
        normaliser: ObservationNormaliser | None = None,
        critic_input: Box | None = None,
        preprocessing: Preprocessing | None = None,
    ) -> None:
        """Put the parts together; ``.to(device)`` moves all of them."""
        super().__init__()
        self.model = model
        self.distribution = distribution
        self.normaliser = normaliser
        self.critic_input = critic_input
        self.preprocessing = preprocessing

    @property
    def has_critic(self) -> bool:
        """Whether the model has a critic."""
        return callable(getattr(self.model, "critic", None))

    def outputs(self, observations: Tensor) -> Tensor:
        """What the action distribution is made from: logits of all heads, or means.

        Args:
            observations: rows, raw.

        Returns:
            (..., distribution.num_outputs) float32.
        """
        return self.model.actor(self.features(observations))  # type: ignore[operator]

    def value(self, inputs: Tensor, actions: Tensor | None = None) -> Tensor:
        """Expected discounted return.

        Args:
            inputs: what the critic reads: rows of raw observations, or (..., numbers) float32 critic inputs.
            actions: (..., numbers), for a critic of actions; None for one of states.

        Returns:
            (...) float32, in units of reward.
        """
        read = self.features(inputs) if self.critic_input is None else inputs
        return self.model.critic(read) if actions is None else self.model.critic(read, actions)  # type: ignore[operator]

    def forward(self, observations: Tensor, critic_inputs: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``outputs`` and ``value``.

        Args:
            observations: rows, raw.
            critic_inputs: (..., numbers) float32, where the critic reads something else than observations.
        """
        seen = self.features(observations)
        read = seen if critic_inputs is None else critic_inputs
        return self.model.actor(seen), self.model.critic(read)  # type: ignore[operator]

    def features(self, observations: Tensor) -> Tensor:
        """What the model reads of rows of raw observations: (..., features) float32."""
        if self.preprocessing is not None:
            return self.preprocessing(observations, self.normaliser)
        return observations if self.normaliser is None else self.normaliser(observations)

    def floats(self, observations: Tensor) -> Tensor:
        """The numbers in rows of observations that are floats, which a normaliser takes in: (..., numbers) float32."""
        return observations if self.preprocessing is None else self.preprocessing.rows.floats(observations)
