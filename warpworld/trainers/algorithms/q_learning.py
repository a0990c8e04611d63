"""Base of algorithms that learn values of choices: settings, targets and steps along a gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor

from warpworld.config import Count, Fault, Flag, Fraction, FractionSchedule, Sizes
from warpworld.environment import Group, is_nested
from warpworld.policies import FORBIDDEN, Categorical, HeadsMaker, Policy, build_policy, of_choices
from warpworld.policies.fused import FusedAdam, FusedTransitions, FusedValues, fuse_copy, fused_gradient
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.algorithms.exploration import Epsilon
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.settings import OffPolicySettings
from warpworld.trainers.algorithms.target_network import TargetNetwork
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled
from warpworld.trainers.collecting import Collector
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.replay import Replay, settle_size

_FORMULAS = ("best_values", "targets_of", "of_actions")  # that C++ has, too


class QSettings(OffPolicySettings):
    """Settings of algorithms that learn values of choices."""

    n_step: Count = Field(default=3, le=1000, description="steps of a transition")
    target_every: Count | None = Field(
        default=500, description="updates between two copies to the target network; null where tau is set"
    )
    tau: Fraction | None = Field(
        default=None,
        gt=0,
        description="how far the target network follows in an update; null where target_every is set",
    )
    double: Flag = Field(default=True, description="the network itself chooses the action that its target values")
    dueling: Flag = Field(default=True, description="split values into the state's and the choices' advantages")
    value_rescale: Flag = Field(default=False, description="learn values on a scale that grows with their square root")
    exploration: Literal["per_env"] | FractionSchedule = Field(
        default="per_env", description="share of random actions: per_env, from 0.4 down to 0.0007, or a schedule"
    )

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Faults of replay settings, and of the two ways to move the target: exactly one must be set."""
        yield from super().faults(sizes)
        if (self.target_every is None) == (self.tau is None):
            both = f"target_every is {self.target_every} and tau is {self.tau}"
            yield Fault(("target_every", "tau"), f"{both}, expected exactly one of them; set the other to null")

    def misfits(self, group: Group) -> Iterator[Fault]:
        """Faults of a group for these settings: its actions must be choices."""
        yield from super().misfits(group)
        what = f"algorithm is {self.algorithm}, but group '{group.name}' acts in {group.action}"
        if is_nested(group.action):
            yield Fault(
                ("algorithm",),
                f"{what}, expected a Discrete, MultiDiscrete or MultiBinary; a2c, ppo and mappo act in a Dict or Tuple",
            )
        elif isinstance(group.action, Box):
            yield Fault(("algorithm",), f"{what}, expected choices; ddpg and sac act in a Box")


@dataclass(frozen=True)
class Evaluated:
    """A batch that was evaluated.

    Attributes:
        loss: () float32, with a gradient.
        errors: (batch,) float32, from which new priorities come; the sign does not count.
        value: () float32, mean value of what was done.
    """

    loss: Tensor
    errors: Tensor
    value: Tensor


class QLearning(OffPolicy):
    """Learns the values of all choices, and takes the best.

    The target of the value of what was done is h(R_n + discount * h^-1(Q_target(s', a*))), where a* is the best allowed
    action by the network itself (double, van Hasselt et al. 2016) or by its target. Of an action of several heads Q is
    the mean over heads (Tavakoli et al. 2018). h is the identity, or with ``value_rescale`` that of Pohlen et al. 2018.
    """

    diagnostics = ("loss", "value", "grad_norm")
    settings: QSettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.parameters = FlatParameters(policy.model, self.now.learning_rate, settings.optimizer_maker)
        self.target = TargetNetwork(policy.model, self.parameters.vector)
        self.learnt, self.targets = {"values": self.parameters}, {"values": self.target}
        assert isinstance(policy.distribution, Categorical)
        self._heads = list(policy.distribution.head_sizes)

    @classmethod
    def build_policy(cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None) -> Policy:
        """A policy whose outputs are the values of all choices."""
        network = cls.network(settings, group, critic_input)
        return build_policy(settings.model, group, generator, needs_critic=False, heads=network)

    @classmethod
    @abstractmethod
    def network(cls, settings: Any, group: Group, critic_input: Box | None) -> HeadsMaker | None:
        """Build the network from an encoder and its width; None for the model's own outputs as values of choices.

        Other arguments are those of ``build_policy``.
        """

    # ---- what such an algorithm defines ------------------------------------------------------------------------------
    @abstractmethod
    def make_replay(self, collector: Collector, rows: int) -> Replay:
        """Build the replay that steps are recorded in and drawn from.

        Args:
            collector: of an unsealed world.
            rows: of the ring.
        """

    @abstractmethod
    def evaluate(self) -> Evaluated:
        """Draw a batch and evaluate it."""

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Make the replay; let the policy explore in all its groups."""
        super().declare(collector)
        self.replay = self.make_replay(collector, self.settings.rows(self.sizes))
        self._epsilon = Epsilon(collector, self.settings.groups, self.settings.exploration)
        for group in self.settings.groups:
            self._epsilon.act(self.replay, group, self.policy)
        settle_size(collector.world, self.replay.policy_agents, self.replay.items)
        if fused_gradient(self.policy) is not None:
            fuse_copy(self.policy, self.target.module)
            self.parameters.native = FusedAdam()

    def transitions_in_cpp(self) -> FusedTransitions | None:
        """C++ that evaluates transitions by these formulas; None without such networks, or if a subclass has others."""
        own, target = fused_gradient(self.policy), getattr(self.target.module, "fused", None)
        are_plain = all(getattr(type(self), name) is getattr(QLearning, name) for name in _FORMULAS)
        if not are_plain or not isinstance(own, FusedValues) or not isinstance(target, FusedValues):
            return None
        return FusedTransitions(own, target, self.settings.double, self.settings.value_rescale)

    def set_exploration(self, progress: Progress) -> None:
        """The share of random actions."""
        self._epsilon.set(progress.env_steps)

    def update(self) -> dict[str, Tensor]:
        """Take one gradient step and return its diagnostics."""
        found = self.evaluate_with_gradient()
        self.share_gradient(self.parameters)
        norm = self.parameters.step(self.settings.max_grad_norm or float("inf"))
        if self.settings.tau is not None:
            self.target.follow(self.settings.tau)
        self.replay.update(found.errors)
        return {"loss": found.loss.detach(), "value": found.value.detach(), "grad_norm": norm}

    def evaluate_with_gradient(self) -> Evaluated:
        """Draw a batch, evaluate it, and write the gradient of its loss."""
        found = self.evaluate()
        self.parameters.differentiate([found.loss])
        return found

    def updated(self) -> None:
        """Copy the network to its target where it is time."""
        if self.settings.target_every is not None and self.num_updates % self.settings.target_every == 0:
            self.target.copy()

    # ---- values ------------------------------------------------------------------------------------------------------
    def best_values(self, by_target: Tensor, chooses: Tensor, masks: Tensor | None) -> Tensor:
        """The target's values of the best allowed choices: (...).

        Args:
            by_target: (..., choices) values by the target network.
            chooses: (..., choices) values that choose: the network's own, or the target's.
            masks: (..., choices) bool, False for choices that are forbidden; None where none is. Where all of a head
                are, none is.
        """
        heads = chooses.split(self._heads, -1)
        if masks is not None:
            allowed = (mask | ~mask.any(-1, keepdim=True) for mask in masks.split(self._heads, -1))
            heads = tuple(torch.where(mask, head, FORBIDDEN) for mask, head in zip(allowed, heads, strict=True))
        best = torch.stack([head.argmax(-1) for head in heads], -1)
        return self.of_actions(by_target, best)

    def targets_of(self, returns: Tensor, discounts: Tensor, following: Tensor) -> Tensor:
        """Targets of the values of the actions taken: (...).

        Args:
            returns: (...) discounted rewards.
            discounts: (...) of what follows; 0 where nothing does.
            following: (...) values of what follows; anything where nothing does.
        """
        rescales = self.settings.value_rescale
        following = unscaled(following) if rescales else following
        total = returns + torch.where(discounts > 0, discounts * following, 0.0)
        return rescaled(total) if rescales else total

    def of_actions(self, values: Tensor, actions: Tensor) -> Tensor:
        """Mean over heads of the values of some choices: (...).

        Args:
            values: (..., choices of all heads).
            actions: (..., heads).
        """
        return of_choices(values, actions, self._heads)
