"""Gumbel AlphaZero (Danihelka et al. 2022): a network learns what a tree search over copies of the env finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box, Discrete
from pydantic import Field
from torch import Tensor

from warpworld.config import (
    ALGORITHM,
    Count,
    Fault,
    Flag,
    Fraction,
    LearnerConfig,
    NotNegativeSchedule,
    Positive,
    PositiveSchedule,
    RewardSettings,
    Sizes,
)
from warpworld.environment import Group
from warpworld.policies import Policy
from warpworld.trainers.algorithms import ALONE, Algorithm, FlatParameters, ProcessGroup, Progress
from warpworld.trainers.collecting import Collector, Rollout
from warpworld.trainers.searching import (
    DRAWN,
    MOVER,
    POLICY,
    VALUE,
    LearntRewards,
    SearchingPolicy,
    SearchRecorder,
    SearchSettings,
    check_searchable,
)

NotNegative = Annotated[float, Field(ge=0)]


class GumbelZeroSettings(RewardSettings):
    """One entry of the ``policy`` section with ``algorithm: gumbel_zero``; names of the search are mctx's."""

    algorithm: Literal["gumbel_zero"] = Field(default="gumbel_zero", description=ALGORITHM)
    num_simulations: Count = Field(default=32, le=4096, description="env steps of the search before each move")
    eval_simulations: Annotated[int, Field(ge=0, le=4096)] = Field(
        default=0, description="the same where it is evaluated, watched or met; 0 plays by its network alone"
    )
    max_num_considered_actions: Count = Field(default=16, description="actions that a search considers at most")
    gumbel_scale: NotNegative = Field(default=1.0, description="noise of the search while training; 0 for none")
    value_scale: NotNegative = Field(default=0.1, description="weight of values beside logits in the search")
    maxvisit_init: NotNegative = Field(default=50.0, description="visits that are added to those that weigh values")
    random_moves: Annotated[int, Field(ge=0)] = Field(
        default=0, description="moves that chance makes as an episode begins, at most; each draws how many"
    )
    gamma: Fraction = Field(default=1.0, description="discount per step")
    td_lambda: Fraction = Field(default=1.0, description="lambda of the value targets; 1 counts rewards to the end")
    learning_rate: PositiveSchedule = Field(default=1e-3, description="step size of Adam")
    anneal_lr: Flag = Field(default=True, description="lower the learning rate linearly to 0 over the run")
    update_epochs: Count = Field(default=1, description="passes over a rollout")
    num_minibatches: Count = Field(default=8, description="parts of a rollout, one gradient step each")
    vf_coef: NotNegativeSchedule = Field(default=1.0, description="weight of the value loss")
    max_grad_norm: Positive = Field(default=1.0, description="longest gradient; longer ones are scaled down")

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Faults of a memory, of opponents, and of minibatches that are empty."""
        yield from super().faults(sizes)
        if self.model.remembers:
            text = f"{self.model.memory}, but gumbel_zero searches from what the env holds, expected no memory"
            yield Fault(("model",), f"{text}; ppo trains policies that remember")
        if self.self_play is not None:
            text = "self_play is set, but the search of gumbel_zero plays all sides by one policy, expected null"
            yield Fault(("self_play",), f"{text}; leave it out")
        rows = sizes.num_envs * sizes.num_steps
        if self.num_minibatches > rows:
            text = f"num_minibatches is {self.num_minibatches}, expected at most the {rows} moves of a rollout"
            yield Fault(("num_minibatches",), text, of_sizes=True)

    def misfits(self, group: Group) -> Iterator[Fault]:
        """Actions are choices, and values are of what agents observe."""
        yield from super().misfits(group)
        what = f"algorithm is gumbel_zero, but group '{group.name}'"
        if not isinstance(group.action, Discrete):
            text = f"{what} acts in {group.action}, expected a Discrete; ppo acts in any space"
            yield Fault(("algorithm",), text)
        if group.critic_input is not None:
            text = f"{what} names '{group.critic_input}' for its critic to read, expected none"
            yield Fault(("algorithm",), f"{text}: a search values what agents observe")

    @property
    def search(self) -> SearchSettings:
        """Settings of the search."""
        return SearchSettings(**{name: getattr(self, name) for name in SearchSettings.__dataclass_fields__})


def search_targets(rewards: Tensor, discounts: Tensor, values: Tensor, drawn: Tensor, td_lambda: float) -> Tensor:
    """Value targets from the view of who moves in each row: (T, B) float32.

    ``target_t = reward_t + discount_t * ((1 - lambda) * value_{t+1} + lambda * target_{t+1})``, where the last row's
    target is ``reward + discount * value``; where chance has moved, it is the row's own value.

    Args:
        rewards: (T, B), of the agent that moves.
        discounts: (T, B): 0 where the episode ends, negative where the other player moves next.
        values: (T + 1, B), that searches have found, from the view of who moves; the last row follows the rollout.
        drawn: (T, B) bool, where chance has moved.
        td_lambda: lambda.
    """
    targets, target = torch.empty_like(rewards), values[-1]
    for t in reversed(range(len(rewards))):
        target = rewards[t] + discounts[t] * ((1 - td_lambda) * values[t + 1] + td_lambda * target)
        targets[t] = target = torch.where(drawn[t], values[t], target)
    return targets


class GumbelZero(Algorithm):
    """A policy that moves by search in copies of its env, and learns what searches find.

    One agent, or two who take turns and of whom one loses what the other gains; both are of one policy.
    """

    Settings: ClassVar[type[LearnerConfig]] = GumbelZeroSettings
    settings: GumbelZeroSettings
    policy: SearchingPolicy

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.now = settings.at(0)
        self.parameters = FlatParameters(policy, self.now.learning_rate)

    @classmethod
    def build_policy(cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None) -> Policy:
        """A policy that plays by search."""
        return SearchingPolicy.of(super().build_policy(settings, group, generator, critic_input), settings.search)

    def declare(self, collector: Collector) -> None:
        """Record moves, and what searches found.

        Raises:
            ConfigError: the world or the device cannot be searched.
        """
        check_searchable(collector.world, self.settings.groups, self.processes.size)
        group = collector.world.groups[self.settings.groups[0]]
        assert isinstance(group.action, Discrete)
        self._recorder = collector.add(SearchRecorder(collector, int(group.action.n)))
        self._rollout = collector.shared(Rollout)
        for name in self.settings.groups:
            self._rollout.record(name, self.policy)

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        """Take gradient steps along the policy's cross-entropy and the values' squared error."""
        self.now = self.settings.at(progress.env_steps)
        remaining = 1.0 - progress.fraction if self.settings.anneal_lr else 1.0
        self.parameters.learning_rate = remaining * self.now.learning_rate
        rows = self._rows()
        self.take_in(rows[0], len(rows[0]))
        sums = torch.zeros(3)
        steps = self.settings.update_epochs * self.settings.num_minibatches
        for _ in range(self.settings.update_epochs):
            order = torch.randperm(len(rows[0]), generator=progress.generator)
            for chosen in order.tensor_split(self.settings.num_minibatches):
                sums += self._step(*(each[chosen] for each in rows))
        return dict(zip(("policy_loss", "value_loss", "entropy"), sums / steps, strict=True))

    def _step(self, seen: Tensor, legal: Tensor, policy: Tensor, targets: Tensor) -> Tensor:
        """One gradient step; gives its losses and the entropy, (3,)."""
        outputs, values = self.policy(seen)
        log_probs = torch.where(legal, outputs, -torch.inf).log_softmax(-1).where(legal, 0.0)
        policy_loss = -(policy * log_probs).sum(-1).mean()
        value_loss = 0.5 * ((values - targets) ** 2).mean()
        self.parameters.differentiate([policy_loss + self.now.vf_coef * value_loss])
        self.parameters.step(self.now.max_grad_norm)
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        return torch.stack((policy_loss, value_loss, entropy)).detach()

    def _rows(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Observations (N, entries), legal moves (N, A), policies that were found (N, A), and value targets (N,)."""
        groups = [self._rollout.trajectories(name) for name in self._rollout.world.groups]
        movers = self._recorder.rows(MOVER).long()
        steps, envs = torch.arange(len(movers))[:, None], torch.arange(movers.shape[1])[None]

        def of_movers(arrays: list[Tensor]) -> Tensor:
            return torch.cat(arrays, 2)[steps, envs, movers]

        first, policy = groups[0], self._recorder.rows(POLICY)
        seen, rewards = of_movers([each.observations for each in groups]), of_movers([each.rewards for each in groups])
        masks = [each.action_masks for each in groups if each.action_masks is not None]
        legal = of_movers(masks) if masks else torch.ones_like(policy, dtype=torch.bool)
        # who moves in the next rows, and what that is worth
        last, last_values = self._last()
        next_movers = torch.cat((movers[1:], last[None]))
        values = torch.cat((self._recorder.rows(VALUE), last_values[None]))
        signs = torch.where(next_movers == movers, 1.0, -1.0)
        discounts = self.now.gamma * signs * ~(first.terminated | first.truncated)
        learnt = LearntRewards(self.now.reward_scale, self.now.reward_clip or None)
        rewards = torch.from_numpy(learnt.of(rewards.numpy()))
        targets = search_targets(rewards, discounts, values, self._recorder.rows(DRAWN), self.now.td_lambda)
        return seen.flatten(0, 1), legal.flatten(0, 1), policy.flatten(0, 1), targets.flatten()

    def _last(self) -> tuple[Tensor, Tensor]:
        """Agents that move after the last step, (B,) int64, and the network's values for them, (B,)."""
        world = self._rollout.world
        seen = torch.cat([self._rollout.trajectories(name).next_observations for name in world.groups], 1)
        movers = torch.zeros(world.num_envs, dtype=torch.int64)
        if "action_mask" in world.data:
            movers = world.data["action_mask"].any(2).byte().argmax(1)
        with torch.no_grad():
            return movers, self.policy.value(seen[torch.arange(world.num_envs), movers])

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The optimiser."""
        return {"optimizer": self.parameters.optimizer.state_dict()}

    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Check that the optimiser's state fits the policy."""
        self.parameters.check_state(saved.get("optimizer", {}))

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``, copying its tensors."""
        self.parameters.load_state(saved["optimizer"])
