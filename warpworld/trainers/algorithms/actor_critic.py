"""Base of algorithms whose actor acts in a bounded Box and learns from critics of its actions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor, nn

from warpworld.config import Count, Fault, Fraction, PositiveSchedule, Sizes
from warpworld.environment import Group, action_layout, is_nested
from warpworld.policies import (
    ActorCritics,
    Critics,
    Deterministic,
    Policy,
    Sampler,
    SamplerContext,
    SquashedGaussian,
    SquashedHead,
    TanhHead,
    build_policy,
    observation_size,
    of_stacks,
    scaling_to,
)
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.algorithms.box_exploration import DeviceScalar, at_random
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.settings import TransitionSettings
from warpworld.trainers.algorithms.target_network import TargetNetwork
from warpworld.trainers.collecting import Collector
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.replay import Normals, TransitionReplay, Transitions, settle_size


class ActorCriticSettings(TransitionSettings):
    """Settings that these algorithms share."""

    remembering = "ppo"

    learning_rate: PositiveSchedule = Field(default=1e-3, description="step size of the critics")
    actor_learning_rate: PositiveSchedule = Field(default=1e-3, description="step size of the actor")
    replay_size: Count = Field(default=1_000_000, description="transitions that are kept, rounded up to whole rows")
    learning_starts: Count = Field(
        default=10_000, description="transitions before the first update; until then actions are drawn uniformly"
    )
    batch_size: Count = Field(default=256, le=2**24, description="transitions of an update, in all processes together")
    tau: Fraction = Field(default=0.005, gt=0, description="how far the target networks follow in an update")

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Faults of replay settings, and ``first_priority: actor``, as no values are recorded while acting."""
        yield from super().faults(sizes)
        if self.first_priority == "actor":
            text = f"first_priority is actor, expected max: under {self.algorithm} no values are known while acting"
            yield Fault(("first_priority",), text)

    def misfits(self, group: Group) -> Iterator[Fault]:
        """Actions lie in a Box with finite bounds, and critics read what actors read."""
        yield from super().misfits(group)
        space, what = group.action, f"algorithm is {self.algorithm}, but group '{group.name}'"
        if is_nested(space):
            text = f"{what} acts in {space}, expected a Box; a2c, ppo and mappo act in a Dict or Tuple"
            yield Fault(("algorithm",), text)
        elif not isinstance(space, Box):
            yield Fault(("algorithm",), f"{what} acts in {space}, expected a Box; dqn acts by choices")
        elif not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            yield Fault(("algorithm",), f"{what} acts in {space}, expected a Box with finite bounds; ppo needs none")
        elif not (space.low < space.high).all():
            yield Fault(("algorithm",), f"{what} acts in {space}, expected low below high in every dimension")
        if group.critic_input is not None:
            text = f"{what} names '{group.critic_input}' for its critic to read, expected none: critics of actions read"
            yield Fault(("algorithm",), f"{text} what the agent observes")


class ActorCritic(OffPolicy):
    """One optimiser for the actor and one for all critics; targets follow by a small part in each update.

    Critics read actions in units in which -1 and 1 are the Box's ends.

    Attributes:
        num_draws: normal numbers that an update needs for each dimension of each transition's action.
        head: makes the actor's last layer, from the encoder's width and the action's size.
        distribution: makes what its outputs mean, from the action's size.
        actor: the actor's parameters.
        critics: the critics' parameters.
        target_critics: what follows the critics.
        normals: random numbers of an update, (draws, batch, size).
        at_random: whether actions are drawn uniformly.
    """

    Settings: ClassVar[type[ActorCriticSettings]] = ActorCriticSettings
    diagnostics: ClassVar[tuple[str, ...]] = ("critic_loss", "actor_loss", "value", "critic_grad_norm")
    num_draws: ClassVar[int]
    head: ClassVar[type[TanhHead] | type[SquashedHead]]
    distribution: ClassVar[type[Deterministic] | type[SquashedGaussian]]
    settings: ActorCriticSettings
    replay: TransitionReplay
    at_random: DeviceScalar

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.model: ActorCritics = policy.model  # type: ignore[assignment]
        make = settings.optimizer_maker
        self.actor = FlatParameters(self.model.actor_layers, self.now.actor_learning_rate, make)
        self.critics = FlatParameters(self.model.critics, self.now.learning_rate, make)
        self.target_critics = TargetNetwork(self.model.critics, self.critics.vector)
        self.learnt = {"actor": self.actor, "critics": self.critics}
        self.targets = {"critics": self.target_critics}

    @classmethod
    def build_policy(cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None) -> Policy:
        """A policy with an actor and critics of its actions."""
        size = action_layout(group.action)[1]

        def build(seen: Group) -> Policy:
            def network(encoder: nn.Module, width: int) -> ActorCritics:
                critics = Critics(cls.num_critics(settings), encoder, observation_size(seen), width, size)
                return ActorCritics(encoder, cls.head(width, size), critics)

            return build_policy(settings.model, seen, generator, False, None, network, cls.distribution(size))

        return of_stacks(build, group, settings.frame_stack)

    # ---- what an algorithm defines -----------------------------------------------------------------------------------
    @staticmethod
    @abstractmethod
    def num_critics(settings: Any) -> int:
        """Number of critics."""

    @abstractmethod
    def sampler(self, context: SamplerContext) -> Sampler:
        """Build the exploring sampler of a group."""

    @abstractmethod
    def targets_of(self, batch: Transitions, following: Tensor, normals: Tensor) -> Tensor:
        """Targets of the values of the actions taken: (B,) float32, without gradient.

        Args:
            batch: the transitions.
            following: (B, features) float32, what the networks read of the observations that follow.
            normals: (draws, B, size), standard normal numbers of this update.
        """

    @abstractmethod
    def update_actor(self, seen: Tensor, weights: Tensor, normals: Tensor) -> dict[str, Tensor]:
        """Take one gradient step of the actor and return its diagnostics.

        Args:
            seen: (B, features) float32, what the networks read.
            weights: (B,) float32, importance weights.
            normals: as for ``targets_of``.
        """

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Make the replay; let the policy explore in all its groups."""
        super().declare(collector)
        world, settings = collector.world, self.settings
        self.replay = self.transition_replay(collector, settings.rows(self.sizes), frame_stack=settings.frame_stack)
        policy_agents = self.replay.policy_agents
        shape = self.num_draws, self.replay.sizes.batch_size, policy_agents.action_size
        self.normals = Normals(world, policy_agents.name, self.replay.priorities, shape)
        self.at_random = at_random(collector, policy_agents.name)
        space = policy_agents.groups[0].action
        assert isinstance(space, Box)
        self._centre, self._scale = torch.from_numpy(scaling_to(space)[:2]).to(world.device)
        for group in settings.groups:
            self.replay.act(group, self.policy, "explore", sampler=lambda context, kernel: self.sampler(context))
        settle_size(world, policy_agents, self.replay.items)

    def set_exploration(self, progress: Progress) -> None:
        """Draw actions uniformly until the policy learns."""
        self.at_random.set(self.transitions < self.settings.learning_starts)

    def set_learning_rate(self, rate: float) -> None:
        """Set the learning rates of the critics and of the actor."""
        super().set_learning_rate(rate)
        self.actor.learning_rate = self.now.actor_learning_rate

    # ---- one update --------------------------------------------------------------------------------------------------
    def update(self) -> dict[str, Tensor]:
        """A gradient step of the critics, then of the actor; targets follow."""
        # a batch, with the critics' targets
        batch, policy = self.replay.draw(self.beta), self.policy
        normals = self.normals.draw()
        seen = policy.features(batch.observations)
        actions = (batch.actions - self._centre) / self._scale
        with torch.no_grad():
            following = policy.features(batch.next_observations)
            targets = self.targets_of(batch, following, normals)
        # the critics' step
        values = self.model.critics(seen, actions)
        errors = targets - values
        loss = (batch.weights * errors**2).mean(1).sum()
        norm = self.step(self.critics, loss)
        # the actor's step, by critics that have made theirs
        of_actor = self.update_actor(seen, batch.weights, normals)
        # priorities, by the errors before the step
        self.replay.update(errors.detach().abs().mean(0))
        value = values.detach().mean()
        return {"critic_loss": loss.detach(), "value": value, "critic_grad_norm": norm, **of_actor}

    def step(self, parameters: FlatParameters, loss: Tensor) -> Tensor:
        """A gradient step of these parameters alone; gives the gradient's length."""
        parameters.differentiate([loss])
        self.share_gradient(parameters)
        return parameters.step(self.settings.max_grad_norm or math.inf)

    def follow(self) -> None:
        """Let the targets follow."""
        for target in self.targets.values():
            target.follow(self.settings.tau)

    @staticmethod
    def discounted(batch: Transitions, values: Tensor) -> Tensor:
        """Returns with the values of what follows, which is anything where nothing does: (B,) float32."""
        return batch.returns + torch.where(batch.discounts > 0, batch.discounts * values, 0.0)

    def charts(self) -> dict[str, float]:
        """The actor's learning rate too."""
        return {**super().charts(), "actor_learning_rate": float(self.now.actor_learning_rate)}
