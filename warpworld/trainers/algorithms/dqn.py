"""Deep Q-learning (Mnih et al. 2015), with the parts of Rainbow that Ape-X keeps (Horgan et al. 2018)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch.nn import functional

from warpworld.config import ALGORITHM, Fraction
from warpworld.environment import Group, action_heads
from warpworld.policies import DuelingHeads, HeadsMaker, Policy, QNetwork, of_stacks
from warpworld.trainers.algorithms import Evaluated, OffPolicySettings, QLearning, QSettings, TransitionSettings
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import TransitionReplay


class DQNSettings(QSettings, TransitionSettings):
    """One entry of the ``policy`` section with ``algorithm: dqn``."""

    remembering = "r2d2"

    algorithm: Literal["dqn"] = Field(default="dqn", description=ALGORITHM)
    priority_alpha: Fraction = Field(default=0.6, description="how much priorities count in draws; 0 draws uniformly")
    max_grad_norm: float | None = Field(
        default=10.0, gt=0, description="longest gradient; longer ones are scaled down; null leaves them"
    )


class DQN(QLearning):
    """Q-learning on transitions of n steps.

    With delta = target - Q(s, a) the loss is the mean of w * huber(delta), the priority |delta|.
    """

    Settings: ClassVar[type[OffPolicySettings]] = DQNSettings
    settings: DQNSettings
    replay: TransitionReplay

    @classmethod
    def build_policy(cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None) -> Policy:
        """A policy whose outputs are the values of all choices; with ``frame_stack`` it remembers what it saw last."""
        build = partial(super().build_policy, settings, generator=generator, critic_input=critic_input)
        return of_stacks(build, group, settings.frame_stack)

    @classmethod
    def network(cls, settings: Any, group: Group, critic_input: Box | None) -> HeadsMaker:
        """An encoder with heads behind it."""
        head_sizes = action_heads(group.action)
        return lambda encoder, width: QNetwork(encoder, DuelingHeads(width, head_sizes, settings.dueling))

    def make_replay(self, collector: Collector, rows: int) -> TransitionReplay:
        """A replay of transitions."""
        settings = self.settings
        return self.transition_replay(
            collector, rows, frame_stack=settings.frame_stack, value_rescale=settings.value_rescale
        )

    def declare(self, collector: Collector) -> None:
        """Let C++ evaluate batches, where it has the networks and the formulas are these."""
        super().declare(collector)
        self._in_cpp = self.transitions_in_cpp() if type(self).evaluate is DQN.evaluate else None

    def evaluate_with_gradient(self) -> Evaluated:
        """Draw transitions, evaluate them and write the gradient: in C++ where that can be."""
        if self._in_cpp is None:
            return super().evaluate_with_gradient()
        batch, features = self.replay.draw(self.beta), self.policy.features
        return Evaluated(*self._in_cpp(features(batch.observations), features(batch.next_observations), batch))

    def evaluate(self) -> Evaluated:
        """Draw transitions and evaluate them."""
        batch, policy = self.replay.draw(self.beta), self.policy
        with torch.no_grad():
            features = policy.features(batch.next_observations)
            by_target = self.target.module.actor(features)  # type: ignore[operator]
            chooses = policy.model.actor(features) if self.settings.double else by_target  # type: ignore[operator]
            following = self.best_values(by_target, chooses, batch.next_action_masks)
            targets = self.targets_of(batch.returns, batch.discounts, following)
        values = self.of_actions(policy.outputs(batch.observations), batch.actions)
        losses = functional.smooth_l1_loss(values, targets, reduction="none")
        return Evaluated((batch.weights * losses).mean(), targets - values.detach(), values.detach().mean())
