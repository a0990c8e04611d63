"""A collector whose groups are all recorded, with what algorithms make of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpworld.policies import Policy
from warpworld.trainers.algorithms.experience.sequences import Experience
from warpworld.trainers.algorithms.experience.trajectory_rows import ends_of
from warpworld.trainers.algorithms.targets.targets import GAETargets
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.players import Player, Slot
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.trainer import Trainer
from warpworld.world import World


@dataclass(frozen=True)
class Discounts:
    gamma: float
    gae_lambda: float
    rho_bar: float = 1.0
    c_bar: float = 1.0
    reward_scale: float = 1.0
    reward_clip: float | None = None


class Recorded(Collector):
    """Every group is played by its entry of ``policies``, and recorded."""

    def __init__(
        self,
        world: World,
        policies: Mapping[str, Player],
        num_steps: int,
        graph_steps: int = 128,
        slots: Sequence[Slot] = (),
    ) -> None:
        super().__init__(world, num_steps, graph_steps, slots)
        self.rollout = self.shared(Rollout)
        for group in world.groups:
            self.rollout.record(group, policies[group])
        self.trajectories = self.rollout.trajectories

    def batch(self, group: str, policy: Policy, gamma: float, gae_lambda: float) -> Experience:
        return GAETargets(policy, [self.trajectories(group)], Discounts(gamma, gae_lambda)).experience()

    def ends(self, group: str, policy: Policy) -> dict[str, Any]:
        return ends_of(self.trajectories(group), policy)


def batches_of(trainer: Trainer, name: str, discounts: Discounts | None = None) -> dict[str, Experience]:
    """The rows of each group that an on-policy algorithm would learn from now, with GAE's targets."""
    algorithm, seen = trainer.algorithms[name], trainer.collector.shared(Rollout)
    groups = trainer.config.policy[name].groups
    return {
        group: GAETargets(algorithm.policy, [seen.trajectories(group)], discounts or algorithm.settings).experience()
        for group in groups
    }
