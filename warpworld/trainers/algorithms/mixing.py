"""Base of VDN and QMIX: values of teams, mixed from those of their agents, learnt from the reward of the team."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from warpworld.config import Count, Fault, Flag, PositiveSchedule, Sizes
from warpworld.environment import Group, action_heads
from warpworld.policies import DuelingHeads, HeadsMaker, RecurrentTeamQNetwork, TeamQNetwork, make_cell
from warpworld.trainers.algorithms.window_learning import Evaluated, Walk, WindowLearning, WindowSettings
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import TeamReplay, TeamSizes, TeamWindowReplay, TeamWindows, TeamWindowSizes


class MixingSettings(WindowSettings):
    """Settings of algorithms that mix the values of a team's agents. A transition is one of a team.

    Where the model remembers, they learn from windows of all agents of an env.
    """

    learns_of: ClassVar[str] = "team"

    learning_rate: PositiveSchedule = Field(default=5e-4, description="step size")
    n_step: Count = Field(default=1, le=1000, description="steps of a transition")
    replay_size: Count = Field(
        default=100_000, description="transitions of teams that are kept, rounded up to whole rows"
    )
    learning_starts: Count = Field(default=10_000, description="transitions of teams before the first update")
    dueling: Flag = Field(default=False, description="split values into the state's and the choices' advantages")
    burn_in: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=8, description=WindowSettings.model_fields["burn_in"].description
    )
    train_length: Count = Field(
        default=32, le=10_000, description=WindowSettings.model_fields["train_length"].description
    )
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
        """A team is one group, its memory is a cell, and none of its agents knows the team's error."""
        name = self.algorithm
        if len(self.groups) > 1:
            text = f"groups has {', '.join(self.groups)}, but {name} mixes the agents of one group"
            yield Fault(("groups",), f"{text}, expected one; give each group a policy of its own")
        if self.model.declares_state:
            text = f"{self.model.memory}, but {name} puts heads of its own behind an encoder"
            yield Fault(("model.type",), f"{text}, expected a model with one; r2d2, ppo and a2c train yours")
        yield from self._windows_without_memory()
        if self.first_priority == "actor":
            text = f"first_priority is actor, but the values that agents act by are not the team's, which {name} learns"
            yield Fault(("first_priority",), f"{text}, expected max")
        yield from super().faults(sizes)

    def _windows_without_memory(self) -> Iterator[Fault]:
        """Faults of settings of windows where transitions are learnt from."""
        if self.model.remembers:
            return
        for key in WindowSettings.own_keys():
            value, default = getattr(self, key), type(self).model_fields[key].default
            if value != default:
                text = f"{key} is {value}, but model.recurrent is null, expected {default}"
                yield Fault((key,), f"{text}; only a policy with a memory learns from windows")


class Mixing(WindowLearning):
    """Q-learning of teams: all agents of a group in an env are one team, and share their network's weights.

    With each agent's own value Q_i, the team's is Q_tot = mix(Q_1, ..., Q_N; state), which never falls as a Q_i rises,
    so that each agent's best action is its part of the team's best. With delta = target - Q_tot of what was done, the
    loss is the mean of w * huber(delta), the priority |delta|. The target is R_n + discount * Q_tot of what follows, by
    the target networks, where each agent takes its best allowed action. Agents that take no part add nothing.

    With a memory a batch has windows, and the loss is R2D2's: network and target walk through the window agent by
    agent, from the memory that each had, and Q_tot is mixed in each step.
    """

    settings: MixingSettings
    replay: TeamReplay | TeamWindowReplay

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
        heads, model, mixer = action_heads(group.action), settings.model, cls.mixer

        def make(encoder: nn.Module, width: int) -> nn.Module:
            if model.recurrent is None:
                of_encoder = DuelingHeads(width, heads, settings.dueling)
                return TeamQNetwork(encoder, of_encoder, mixer(settings, group, critic_input))
            of_cell = DuelingHeads(model.recurrent_size, heads, settings.dueling)
            cell = make_cell(model, width)
            return RecurrentTeamQNetwork(encoder, cell, of_cell, mixer(settings, group, critic_input))

        return make

    def make_replay(self, collector: Collector, rows: int) -> TeamReplay | TeamWindowReplay:
        """A replay of teams: of their transitions, or with a memory of their windows."""
        (name,), settings = self.settings.groups, self.settings
        own = {
            **self.draw_sizes(rows),
            "value_rescale": settings.value_rescale,
            "mean_reward": settings.team_reward == "mean",
            "state": self.state_array(collector.world.groups[name]),
        }
        if not settings.model.remembers:
            sizes = TeamSizes(**own, final_observations=self.keeps_finals(collector))
            return TeamReplay(collector, name, sizes, self.processes)
        of_windows = TeamWindowSizes(
            **own,
            state_size=self.policy.state_size,
            burn_in=settings.burn_in,
            train_length=settings.train_length,
            eta=settings.priority_eta,
        )
        return TeamWindowReplay(collector, [name], of_windows, self.processes)

    def charts(self) -> dict[str, float]:
        """Charts as ``OffPolicy``'s, with a replay ratio that counts all transitions of a window."""
        charts, steps = super().charts(), self.settings.train_length if self.settings.model.remembers else 1
        return {**charts, "replay_ratio": charts["replay_ratio"] * steps}

    # ---- learning ----------------------------------------------------------------------------------------------------
    def evaluate(self) -> Evaluated:
        """Draw transitions or windows and evaluate them."""
        batch, policy = self.replay.draw(self.beta), self.policy
        if isinstance(batch, TeamWindows):
            return self.of_windows(batch)
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

    def of_windows(self, batch: TeamWindows) -> Evaluated:
        """Loss of windows: each agent's values through the window, mixed in each step."""
        own, target = self.policy.model, self.target.module
        assert isinstance(own, RecurrentTeamQNetwork) and isinstance(target, RecurrentTeamQNetwork)
        features, trained = self.policy.features(batch.observations), batch.takes_part
        teams = batch.starts.shape[1:]
        # values of each agent, all agents of the batch side by side
        masks = None if batch.action_masks is None else batch.action_masks.flatten(1, 2)
        alone = features.flatten(1, 2), batch.states.flatten(0, 1), batch.starts.flatten(1, 2)
        values, following = self.walked(Walk(*alone, masks))
        # values of teams in each step, and their targets
        seen = features[self.settings.burn_in :]
        declared = batch.team_states
        now = self.state(None if declared is None else declared[: len(trained)], seen[: len(trained)], trained)
        of_agents = self.of_actions(values.unflatten(1, teams), batch.actions)
        chosen = own.mix(of_agents, trained, now)
        with torch.no_grad():
            then = self.state(declared, seen, batch.next_takes_part)
            after = target.mix(following.unflatten(1, teams), batch.next_takes_part, then)
            targets = self.targets_of(batch.returns, batch.discounts, after.gather(0, batch.following))
        return self.window_loss(chosen, targets, batch.learnt, batch.weights)

    @staticmethod
    def state(declared: Tensor | None, features: Tensor, takes_part: Tensor) -> Tensor:
        """Inputs of a mixer: (..., numbers) float32.

        Args:
            declared: (..., numbers), by the environment; None takes all agents' features one behind the other, zeros
                for those that take no part.
            features: (..., N, features).
            takes_part: (..., N) bool.
        """
        return torch.where(takes_part.unsqueeze(-1), features, 0.0).flatten(-2) if declared is None else declared
