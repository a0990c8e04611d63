"""Base of VDN and QMIX: values of teams, mixed from those of their agents, learnt from the reward of the team."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from warpworld.config import Count, Fault, Flag, PositiveSchedule, Sizes
from warpworld.environment import Group, action_heads
from warpworld.policies import DuelingHeads, HeadsMaker, TeamQNetwork
from warpworld.trainers.algorithms.q_learning import Evaluated, QLearning, QSettings
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import TeamReplay, TeamSizes


class MixingSettings(QSettings):
    """Settings of algorithms that mix the values of a team's agents. A transition is one of a team."""

    learns_of: ClassVar[str] = "team"

    learning_rate: PositiveSchedule = Field(default=5e-4, description="step size")
    n_step: Count = Field(default=1, le=1000, description="steps of a transition")
    replay_size: Count = Field(
        default=100_000, description="transitions of teams that are kept, rounded up to whole rows"
    )
    learning_starts: Count = Field(default=10_000, description="transitions of teams before the first update")
    dueling: Flag = Field(default=False, description="split values into the state's and the choices' advantages")
    max_grad_norm: float | None = Field(
        default=10.0, gt=0, description="longest gradient; longer ones are scaled down; null leaves them"
    )
    team_reward: Literal["mean", "sum"] = Field(
        default="mean", description="a team's reward: the mean or the sum of its agents' rewards"
    )

    def per_env(self, sizes: Sizes) -> int:
        """A step of an env is one transition of its team."""
        return 1

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """A team is one group, its agents act without a memory, and none of them knows the team's error."""
        name = self.algorithm
        if len(self.groups) > 1:
            text = f"groups has {', '.join(self.groups)}, but {name} mixes the agents of one group"
            yield Fault(("groups",), f"{text}, expected one; give each group a policy of its own")
        if self.model.recurrent is not None:
            text = f"model.recurrent is {self.model.recurrent}, but {name} learns from transitions"
            yield Fault(("model.recurrent",), f"{text}, expected null")
        if self.first_priority == "actor":
            text = f"first_priority is actor, but the values that agents act by are not the team's, which {name} learns"
            yield Fault(("first_priority",), f"{text}, expected max")
        yield from super().faults(sizes)


class Mixing(QLearning):
    """Q-learning of teams: all agents of a group in an env are one team, and share their network's weights.

    With each agent's own value Q_i, the team's is Q_tot = mix(Q_1, ..., Q_N; state), which never falls as a Q_i rises,
    so that each agent's best action is its part of the team's best. With delta = target - Q_tot of what was done, the
    loss is the mean of w * huber(delta), the priority |delta|. The target is R_n + discount * Q_tot of what follows, by
    the target networks, where each agent takes its best allowed action. Agents that take no part add nothing.
    """

    settings: MixingSettings
    replay: TeamReplay

    # ---- what such an algorithm defines ------------------------------------------------------------------------------
    @classmethod
    @abstractmethod
    def mixer(cls, settings: Any, group: Group, state: Box | None) -> nn.Module:
        """Build the mixer of a group's values, see ``TeamQNetwork``; ``state`` is None if none is declared."""

    def state_array(self, group: Group) -> str | None:
        """Name of the array that the environment declares as the state; None where none is kept."""
        return None

    # ---- what it is made of ------------------------------------------------------------------------------------------
    @classmethod
    def network(cls, settings: Any, group: Group, critic_input: Box | None) -> HeadsMaker:
        """An encoder with heads behind it, and a mixer."""
        heads, mixer = action_heads(group.action), cls.mixer
        return lambda encoder, width: TeamQNetwork(
            encoder, DuelingHeads(width, heads, settings.dueling), mixer(settings, group, critic_input)
        )

    def make_replay(self, collector: Collector, rows: int) -> TeamReplay:
        """A replay of teams."""
        (name,), settings = self.settings.groups, self.settings
        group = collector.world.groups[name]
        sizes = TeamSizes(
            **self.draw_sizes(rows),
            final_observations=self.keeps_finals(collector),
            value_rescale=settings.value_rescale,
            mean_reward=settings.team_reward == "mean",
            state=self.state_array(group),
        )
        return TeamReplay(collector, name, sizes, self.processes)

    # ---- learning ----------------------------------------------------------------------------------------------------
    def evaluate(self) -> Evaluated:
        """Draw transitions and evaluate them."""
        batch, policy = self.replay.draw(self.beta), self.policy
        own, target = policy.model, self.target.module
        assert isinstance(own, TeamQNetwork) and isinstance(target, TeamQNetwork)
        # the teams' targets, by the target network
        with torch.no_grad():
            features = policy.features(batch.next_observations)
            by_target = target.actor(features)
            chooses = own.actor(features) if self.settings.double else by_target
            best = self.best_values(by_target, chooses, batch.next_action_masks)
            state = self.state(batch.next_states, features, batch.next_takes_part)
            following = target.mix(best, batch.next_takes_part, state)
            targets = self.targets_of(batch.returns, batch.discounts, following)
        # the teams' values, with a gradient
        features = policy.features(batch.observations)
        of_agents = self.of_actions(own.actor(features), batch.actions)
        values = own.mix(of_agents, batch.takes_part, self.state(batch.states, features, batch.takes_part))
        # the loss, by importance weights
        losses = functional.smooth_l1_loss(values, targets, reduction="none")
        return Evaluated((batch.weights * losses).mean(), targets - values.detach(), values.detach().mean())

    @staticmethod
    def state(declared: Tensor | None, features: Tensor, takes_part: Tensor) -> Tensor:
        """Inputs of a mixer: (B, numbers) float32.

        Args:
            declared: (B, numbers), by the environment; None takes all agents' features one behind the other, zeros for
                those that take no part.
            features: (B, N, features).
            takes_part: (B, N) bool.
        """
        return torch.where(takes_part.unsqueeze(-1), features, 0.0).flatten(1) if declared is None else declared
