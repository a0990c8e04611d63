"""Deep Q-learning (Mnih et al. 2015), with the parts of Rainbow that Ape-X keeps (Horgan et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from warpworld.config.sections import ALGORITHM, Fault, Sizes
from warpworld.config.types import Count, Flag, Fraction, FractionSchedule
from warpworld.environment import Group
from warpworld.environment.spaces import action_heads
from warpworld.managers.array_values import torch_dtype
from warpworld.policies import Categorical, ObservationRows, Policy, build_policy
from warpworld.policies.distributions import FORBIDDEN
from warpworld.policies.q_network import DuelingHeads, QNetwork
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.algorithms.exploration import Epsilon
from warpworld.trainers.algorithms.flat_parameters import FlatParameters
from warpworld.trainers.algorithms.off_policy import SMALL_OBSERVATION, OffPolicy, OffPolicySettings
from warpworld.trainers.algorithms.target_network import TargetNetwork
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.distributed import ALONE, ProcessGroup
from warpworld.trainers.replay import ReplaySizes, TransitionReplay, Transitions
from warpworld.trainers.replay.size import settle_size


class DQNSettings(OffPolicySettings):
    """One entry of the ``policy`` section with ``algorithm: dqn``."""

    algorithm: Literal["dqn"] = Field(default="dqn", description=ALGORITHM)
    n_step: Count = Field(default=3, le=1000, description="steps of a transition")
    priority_alpha: Fraction = Field(default=0.6, description="how much priorities count in draws; 0 draws uniformly")
    max_grad_norm: float | None = Field(
        default=10.0, gt=0, description="longest gradient; longer ones are scaled down; null leaves them"
    )
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
    frame_stack: Count = Field(default=1, le=64, description="observations that make what the policy reads")

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Exactly one way to move the target."""
        yield from super().faults(sizes)
        if (self.target_every is None) == (self.tau is None):
            both = f"target_every is {self.target_every} and tau is {self.tau}"
            yield Fault(("target_every", "tau"), f"{both}, expected exactly one of them; set the other to null")

    def least_rows(self, sizes: Sizes) -> int:
        """Frames before a transition's first are needed too."""
        return super().least_rows(sizes) + self.frame_stack - 1


class DQN(OffPolicy):
    """Q-learning on transitions of n steps.

    With y = h(R_n + discount * h^-1(Q_target(s', a*))), where a* is the best allowed action by the network itself
    (double) or by its target, and delta = y - Q(s, a), the loss is the mean of w * huber(delta), the priority |delta|.
    Of an action of several heads Q is the mean over heads (Tavakoli et al. 2018). h is the identity, or with
    ``value_rescale`` that of Pohlen et al. 2018.
    """

    Settings: ClassVar[type[OffPolicySettings]] = DQNSettings
    diagnostics = ("loss", "value", "grad_norm")
    settings: DQNSettings

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
        heads = action_heads(group.action)

        def network(encoder: torch.nn.Module, width: int) -> QNetwork:
            return QNetwork(encoder, DuelingHeads(width, heads, settings.dueling))

        return build_policy(settings.model, group, generator, needs_critic=False, heads=network)

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Make the replay; let the policy explore in all its groups."""
        super().declare(collector)
        self.replay = TransitionReplay(collector, self.settings.groups, self._sizes(collector), self.processes)
        self._epsilon = Epsilon(collector, self.replay.crew.name, self.settings.exploration)
        for group in self.settings.groups:
            self._epsilon.act(self.replay, group, self.policy)
        settle_size(collector.world, self.replay.crew, self.replay.items)

    def _sizes(self, collector: Collector) -> ReplaySizes:
        settings = self.settings
        of_run = Sizes(collector.total_envs, collector.num_steps, self.agents)
        keep = settings.final_observations
        if keep is None:
            rows = ObservationRows(collector.world.groups[settings.groups[0]].observation)
            keep = rows.size * torch_dtype(rows.dtype).itemsize <= SMALL_OBSERVATION
        return ReplaySizes(
            rows=settings.rows(of_run),
            batch_size=settings.batch_size // self.processes.size,
            n_step=settings.n_step,
            gamma=settings.gamma,
            alpha=settings.priority_alpha,
            actors_priority=settings.first_priority == "actor",
            final_observations=keep,
            frame_stack=settings.frame_stack,
            reward_clip=settings.reward_clip or 0.0,
            value_rescale=settings.value_rescale,
        )

    def set_exploration(self, progress: Progress) -> None:
        """The share of random actions."""
        self._epsilon.set(progress.env_steps)

    def update(self) -> dict[str, Tensor]:
        """One gradient step."""
        batch = self.replay.draw(self.beta)
        with torch.no_grad():
            targets = self.targets_of(batch)
        values = self._of_actions(self.policy.outputs(batch.observations), batch.actions)
        errors = targets - values
        losses = functional.smooth_l1_loss(values, targets, reduction="none")
        loss = (batch.weights * losses).mean()
        self.parameters.gradient.zero_()
        loss.backward()
        self.share_gradient(self.parameters)
        norm = self.parameters.step(self.settings.max_grad_norm or float("inf"))
        if self.settings.tau is not None:
            self.target.follow(self.settings.tau)
        self.replay.update(errors)
        return {"loss": loss.detach(), "value": values.detach().mean(), "grad_norm": norm}

    def updated(self) -> None:
        """Copy the network to its target where it is time."""
        if self.settings.target_every is not None and self.num_updates % self.settings.target_every == 0:
            self.target.copy()

    # ---- values ------------------------------------------------------------------------------------------------------
    def targets_of(self, batch: Transitions) -> Tensor:
        """What the values of the actions taken are to be: (B,) float32."""
        features = self.policy.features(batch.next_observations)
        by_target = self.target.module.actor(features)  # type: ignore[operator]
        chooses = self.policy.model.actor(features) if self.settings.double else by_target  # type: ignore[operator]
        if batch.next_action_masks is not None:
            chooses = torch.where(batch.next_action_masks, chooses, FORBIDDEN)
        best = torch.stack([head.argmax(-1) for head in chooses.split(self._heads, -1)], -1)
        values = self._of_actions(by_target, best)
        if not self.settings.value_rescale:
            return batch.returns + torch.where(batch.discounts > 0, batch.discounts * values, 0.0)
        following = torch.where(batch.discounts > 0, batch.discounts * unscaled(values), 0.0)
        return rescaled(batch.returns + following)

    def _of_actions(self, values: Tensor, actions: Tensor) -> Tensor:
        """Mean over heads of the values of some choices: (B,)."""
        index = actions.long()
        heads = values.split(self._heads, -1)
        return torch.stack([head.gather(-1, index[:, i : i + 1]).squeeze(-1) for i, head in enumerate(heads)]).mean(0)
