"""A policy: a model, what its outputs mean, and what it makes of raw observations."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from gymnasium.spaces import Box, Space
from torch import Tensor, nn

from warpworld.errors import StoreError
from warpworld.policies.distributions import ActionDistribution
from warpworld.policies.inputs import (
    CallersSpaces,
    CentralInputs,
    ObservationNormaliser,
    Observed,
    Preprocessing,
    mask_rows,
)
from warpworld.policies.layers import FLOAT32, products, widened
from warpworld.policies.shared import Shared
from warpworld.policies.value_scale import ValueScale


class Model(Protocol):
    """Interface of a model: a torch module with an actor, and a critic where the policy's algorithm needs one.

    It is made with ``(observation, num_outputs, **settings)``: the gymnasium space of what one agent sees, how many
    numbers the action distribution takes, and, as keyword-only arguments, the other keys of the YAML file's ``model``
    section, checked against their annotations. Weights are drawn from torch's global generator, which is seeded for it.
    What it is given is flat float32: a Box of several dimensions in their order, one of uint8 divided by 255; a
    Discrete or MultiDiscrete as one-hot vectors; a MultiBinary as 0 and 1; the parts of a Dict behind each other in the
    order of its keys. So an observation has ``gymnasium.spaces.flatdim(observation)`` features.

    For a group that names a ``critic_input`` it is made with ``(observation, num_outputs, critic_input, **settings)``:
    the Box of what the critic reads in place of observations. A critic of actions takes them as its second argument.

    One that has ``encoder(observation, **settings)`` as well, a static or class method that gives a module
    (rows, features) -> (rows, width), can be made recurrent or shared: the cell, actor and critic, or actor and critic
    alone, then stand behind that module. One that declares a state has a memory of its own, see ``ModelWithState``.

    It has parameters, all of them float32 and at least one of them with ``requires_grad``; those without keep their
    values, and buffers may be anything. Modules are in eval mode throughout, while acting, learning and evaluating:
    dropout does nothing, and batch normalisation does not take its statistics from what it sees.
    """

    def actor(self, observations: Tensor) -> Tensor:
        """(..., features) float32 -> (..., num_outputs) float32."""

    def critic(self, inputs: Tensor) -> Tensor:
        """(..., features) float32 -> (...) float32, expected discounted return."""


class Policy(nn.Module):
    """An actor with an optional critic; it plays one or more groups.

    It reads rows of observations as rollouts keep them, see ``ObservationRows``: (..., features) float32, or
    (..., bytes) uint8 if parts of the observations are not floats.

    Attributes:
        model: the networks.
        distribution: of the actions.
        normaliser: applied to floats of observations before the model reads them, or None.
        critic_input: what the critic reads; None for the observations.
        preprocessing: turns rows of bytes into features; None if rows are features.
        value_scale: units in which the critic says values; None for those of reward.
        central: makes what a central critic reads from what a team sees; None for critics of single agents.
        spaces: of the agents that it plays, for ``act``; None if they are not known.
        needs_mask: whether it learnt with an ``action_mask``, which ``act`` then requires.
        acts_greedily: whether ``act`` always takes the likeliest actions, because of its algorithm.
        state_size: numbers in one agent's state; 0 for a policy without memory.
    """

    spaces: CallersSpaces | None = None
    needs_mask: bool = False
    acts_greedily: bool = False
    state_size: int = 0
    central: CentralInputs | None = None

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
        self.value_scale: ValueScale | None = None

    def acting(self, *, greedily: bool = False, masked: bool = False) -> Policy:
        """Settle how ``act`` chooses, once and for all; returns the policy.

        Args:
            greedily: see ``acts_greedily``.
            masked: see ``needs_mask``.
        """
        self.acts_greedily, self.needs_mask = self.acts_greedily or greedily, self.needs_mask or masked
        return self

    @property
    def has_critic(self) -> bool:
        """Whether the model has a critic."""
        return callable(getattr(self.model, "critic", None))

    def act(
        self,
        observations: Any,
        greedy: bool = False,
        *,
        action_mask: Any = None,
        state: Any = None,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Choose actions of the environment's own space, for observations of its own space.

        Args:
            observations: of one agent, (*shape); or of many, (..., *shape). In NumPy or torch; for a Dict space a dict.
            greedy: take the likeliest actions instead of drawing.
            action_mask: (..., choices of all heads) bool, False for choices that are forbidden; or as PettingZoo's
                agents have it, in the form that Gymnasium's spaces take.
            state: of a policy with memory: what the last call returned, with 0 for agents that begin an episode; None
                begins one for all.
            generator: of the draws, on the policy's device; None takes torch's global one.

        Returns:
            The actions, (..., *shape of the space), a dict or tuple of such for a Dict or Tuple space: in NumPy if
            observations are. Of a policy with memory: the actions,
            and the state (..., state size) float32 for the next call.

        Raises:
            StoreError: an argument has another shape or dtype, or is missing, or the policy knows no spaces.
        """
        if self.spaces is None:
            raise StoreError("act(): this policy knows no spaces; use one that load_policy or a Trainer made")
        with torch.no_grad(), products(FLOAT32, self._device):
            observed = self.spaces.observed(observations, self._device)
            allowed = self._allowed(action_mask, observed, self.spaces.action)
            outputs, after = self.outputs_and_state(observed, state)
            chosen = self.distribution.choose(outputs, greedy or self.acts_greedily, generator, allowed)
            actions = observed.handed_back(self.spaces.actions(chosen))
            return actions if after is None else (actions, observed.handed_back(after))

    def probabilities(self, observations: Any, greedy: bool = False, *, action_mask: Any = None) -> Any:
        """Probability of each choice, by which ``act`` draws.

        Args:
            observations: as for ``act``.
            greedy: as for ``act``: the likeliest choice has probability 1.
            action_mask: as for ``act``.

        Returns:
            (..., choices of all heads) float64; those of each head sum to 1. In NumPy if observations are.

        Raises:
            StoreError: as of ``act``; or the policy has a memory, or actions in a Box.
        """
        if self.spaces is None:
            raise StoreError("probabilities(): this policy knows no spaces; use one that load_policy or a Trainer made")
        if not self.has_probabilities:
            what = "has a memory" if self.state_size else f"acts in {self.spaces.action}"
            raise StoreError(f"probabilities(): expected a policy without memory that makes choices; this one {what}")
        with torch.no_grad(), products(FLOAT32, self._device):
            observed = self.spaces.observed(observations, self._device)
            allowed = self._allowed(action_mask, observed, self.spaces.action)
            distribution: Any = self.distribution
            found = distribution.probabilities(self.outputs(observed.rows), greedy or self.acts_greedily, allowed)
            return observed.handed_back(found)

    @property
    def has_probabilities(self) -> bool:
        """Whether one observation settles the probability of each of its choices."""
        return self.state_size == 0 and callable(getattr(self.distribution, "probabilities", None))

    @property
    def num_choices(self) -> int:
        """Choices of all heads of its actions, which a mask may forbid; 0 of actions in a Box."""
        return sum(getattr(self.distribution, "head_sizes", ()))

    @property
    def reads_mask(self) -> bool:
        """Whether it learnt with a mask of its choices."""
        return self.needs_mask and self.num_choices > 0

    @property
    def _device(self) -> torch.device:
        return next(self.parameters()).device

    def _allowed(self, action_mask: Any, observed: Observed, action: Space) -> Tensor | None:
        """The mask in rows: (n, choices of all heads) bool."""
        if action_mask is None:
            if self.reads_mask:
                expected = (*observed.lead, self.num_choices)
                raise StoreError(f"act(): the policy learnt with a mask; pass action_mask=, bool of shape {expected}")
            return None
        if not self.num_choices:
            raise StoreError("action_mask: actions in a Box cannot be forbidden; leave it out")
        return mask_rows(action_mask, action, observed.lead).to(self._device)

    def outputs_and_state(self, observed: Observed, state: Any) -> tuple[Tensor, Tensor | None]:
        """The parameters of the action distribution, and the next state; None for a policy without memory.

        Args:
            observed: n observations.
            state: as for ``act``.

        Raises:
            StoreError: the state has another shape or dtype.
        """
        if state is not None:
            raise StoreError("state: this policy has no memory; leave it out")
        return self.outputs(observed.rows), None

    def outputs(self, observations: Tensor) -> Tensor:
        """The parameters of the action distribution: logits of all heads, or means; of a hybrid action both, in turn.

        Args:
            observations: rows, raw.

        Returns:
            (..., distribution.num_outputs) float32.
        """
        return widened(self.model.actor(self.read(observations)))  # type: ignore[operator]

    def value(self, inputs: Tensor, actions: Tensor | None = None) -> Tensor:
        """Expected discounted return.

        Args:
            inputs: what the critic reads: rows of raw observations, or (..., numbers) float32 critic inputs.
            actions: (..., numbers), for a critic of actions; None for one of states.

        Returns:
            (...) float32, in units of reward.
        """
        read = self.read(inputs) if self.critic_input is None else inputs
        if actions is not None:
            return widened(self.model.critic(read, actions))  # type: ignore[operator]
        return self.in_rewards(widened(self.model.critic(read)))  # type: ignore[operator]

    def outputs_and_values(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """``outputs`` and ``value`` of rows of raw observations, without gradient; from one pass where C++ makes it."""
        fused = getattr(self.model, "fused", None)
        if fused is None or self.critic_input is not None or not getattr(fused, "values_as_it_acts", False):
            return self.outputs(observations), self.value(observations)
        outputs, values = fused.both(self.read(observations))
        return outputs, self.in_rewards(values)

    def in_rewards(self, values: Tensor) -> Tensor:
        """Values as the critic says them, in units of reward."""
        return values if self.value_scale is None else self.value_scale.in_rewards(values)

    def forward(self, observations: Tensor, critic_inputs: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``outputs``, and values as the critic says them: in units of ``value_scale``, if there is one.

        Args:
            observations: rows, raw.
            critic_inputs: (..., numbers) float32, if the critic reads anything other than observations.
        """
        seen = self.features(observations)
        if isinstance(self.model, Shared):
            return self.model.both(seen)
        read = seen if critic_inputs is None else critic_inputs
        return widened(self.model.actor(seen)), widened(self.model.critic(read))  # type: ignore[operator]

    def features(self, observations: Tensor) -> Tensor:
        """Features of rows of raw observations: (..., features) float32."""
        if self.preprocessing is not None:
            return self.preprocessing(observations, self.normaliser)
        return observations if self.normaliser is None else self.normaliser(observations)

    def read(self, observations: Tensor) -> Tensor:
        """Inputs of the networks, made of rows of raw observations: features, or the rows where C++ reads bytes."""
        reads_bytes = getattr(getattr(self.model, "fused", None), "reads_bytes", False)
        are_read = reads_bytes and observations.dtype == torch.uint8 and not torch.is_grad_enabled()
        return observations if are_read else self.features(observations)

    def floats(self, observations: Tensor) -> Tensor:
        """The floats in rows of observations, which a normaliser updates from: (..., numbers) float32."""
        return observations if self.preprocessing is None else self.preprocessing.rows.floats(observations)
