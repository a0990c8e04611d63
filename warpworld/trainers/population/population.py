"""A population: members learn a policy side by side, each in a share of the envs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from warpworld.config import LearnerConfig, slots_of
from warpworld.policies import Policy
from warpworld.trainers.algorithms import Algorithm, Progress
from warpworld.trainers.collecting import Collector, EpisodeStatistics, Finished, Rollout, Slot
from warpworld.trainers.population.exploration import Exploration, ranked
from warpworld.trainers.population.members import Member, check_population, mean_of

PREFIX = "population_"


class Population(Algorithm):
    """Learns a policy by members, whose settings follow those of the best (Jaderberg et al. 2017, arXiv 1711.09846).

    Each member acts in envs of its own and learns from them alone. After every ``interval`` iterations members are
    ranked by the mean return of the episodes that ended since the last ranking: the worst copy weights, optimiser and
    settings of the best, and change the settings. The policy itself always has the weights of the member that was best
    in the latest ranking.

    Attributes:
        name: of the policy.
        members: by their numbers.
        best: number of the best one.
        slots: the members' envs.

    Args:
        name: of the policy.
        policy: that evaluations, checkpoints and exports know.
        settings: of the policy's section.
        members: at the beginning.
        num_envs: of the run.
        exploration: says who copies whom, and gives settings.
    """

    Settings: ClassVar[type[LearnerConfig]] = LearnerConfig
    settings: LearnerConfig

    def __init__(
        self,
        name: str,
        policy: Policy,
        settings: LearnerConfig,
        members: Sequence[Member],
        num_envs: int,
        exploration: Exploration,
    ) -> None:
        super().__init__(policy, settings)
        assert settings.population is not None
        self.name, self.members, self._exploration = name, list(members), exploration
        self._interval = settings.population.interval
        self.best, self._iterations = 0, 0
        self._returns = [math.nan] * len(members)  # in the latest ranking
        shares = slots_of(range(num_envs), len(members))
        self.slots = []
        for member, envs in zip(members, shares, strict=True):
            member.algorithm.envs = envs
            part = slice(envs.start, envs.stop)
            self.slots.append(Slot(settings.groups, part, member.policy, is_member=True))

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Record rollouts of all groups, from which every member takes its share."""
        self._world, rollout = collector.world, collector.shared(Rollout)
        for group in self.settings.groups:
            rollout.record(group, self.policy)
        for member in self.members:
            member.algorithm.declare(collector)
        self._episodes = EpisodeStatistics(collector.world, collector.num_steps, prefix=PREFIX)

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        """Let every member learn from its envs, and rank them where it is time; gives means over the members."""
        self._episodes.add_up()
        found = mean_of([member.algorithm.learn(progress) for member in self.members])
        self._iterations += 1
        if self._iterations % self._interval == 0:
            self._rank()
        self._show_best()
        return found

    def charts(self) -> Mapping[str, float | Tensor]:
        """Charts of the best member."""
        return self.members[self.best].algorithm.charts()

    def drop_running(self) -> None:
        """Implement ``Algorithm``."""
        self._episodes.drop_running()

    def _show_best(self) -> None:
        """Give the policy itself the best member's weights."""
        self.policy.load_state_dict(self.members[self.best].policy.state_dict())

    # ---- rankings ----------------------------------------------------------------------------------------------------
    def _returns_now(self) -> list[float]:
        """Mean of each member's episodes since the latest ranking, over the agents of its groups.

        NaN of a member in whose envs none ended, negative infinity of one whose weights are not finite.
        """
        agents = [self._world.groups[group].slice for group in self.settings.groups]
        ended = [Finished.of_sums(self._episodes.sums(slot.envs).tolist()) for slot in self.slots]
        found = zip(self.members, ended, strict=True)
        return [-math.inf if member.is_lost else each.mean_return(agents) for member, each in found]

    @property
    def _ranking(self) -> int:
        """Number of the present ranking, from 1 on."""
        return self._iterations // self._interval

    def _rank(self) -> None:
        """Rank the members; the worst copy the best, and change their settings."""
        self._returns = returns = self._returns_now()
        self.best = next(iter(ranked(returns)), self.best)
        pairs = self._exploration.sources(returns, self._ranking)
        for number, member in enumerate(self.members):
            member.parent = pairs.get(number, number)
        for number, source in pairs.items():
            self._copy(number, source)
        self._episodes.begin()

    def _copy(self, number: int, source: int) -> None:
        """Let a member continue from another one's weights; its agents remember nothing from there on."""
        member, other = self.members[number], self.members[source]
        member.copy_weights(other)
        member.take_values(self._exploration.changed(other.values, number, self._ranking))
        member.origin = other.origin
        member.copies += 1
        for name in member.algorithm.memories():
            self._world[name][self.slots[number].envs] = 0.0

    def metrics(self) -> dict[str, float]:
        """The best member; of each its return in the latest ranking, its descent and its settings."""
        found: dict[str, float] = {"best": self.best, "origins": len({member.origin for member in self.members})}
        for number, (member, value) in enumerate(zip(self.members, self._returns, strict=True)):
            descent = {name: getattr(member, name) for name in ("parent", "origin", "copies")}
            of_member = {"return": value if math.isfinite(value) else math.nan, **descent, **member.values}
            found |= {f"{number}/{name}": number_of for name, number_of in of_member.items()}
        return {f"population/{self.name}/{name}": value for name, value in found.items()}

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """State of the members, and what the next ranking depends on besides the store."""
        members = [member.state_dict() for member in self.members]
        numbers = {"best": self.best, "iterations": self._iterations, "returns": list(self._returns)}
        return {"members": members, **numbers}

    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Whether all members are there and fit."""
        check_population(self.members, saved)

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned."""
        self.best, self._iterations, self._returns = saved["best"], saved["iterations"], list(saved["returns"])
        for member, own in zip(self.members, saved["members"], strict=True):
            member.load_state_dict(own)
