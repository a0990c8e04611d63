"""What is measured of a policy: whom it hits, and who hits it, among opponents that act at random.

Rewards cannot be compared where rules differ, and health is lost to bounds and time as well. What is counted are shots
that hit: the same thing by all rules, though it is easier by some. Therefore each count stands beside that of an agent
which itself acts at random, by the same rules on the same plans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from warpworld.environment import get_environment
from warpworld.policies import Policy
from warpworld.trainers.collecting.actor import Actor
from warpworld.world import World

NUM_ENVS = 512
STEPS = 500  # of one long episode, as an episode's end would forget kills and the last shots
ONE_AMONG_THREE = {"players": 1, "rivals": 3}
SEED = 1_000_001  # of no training
PER = 1000  # agent steps


@dataclass(frozen=True)
class Counts:
    """What happened to those who are examined, in 1000 steps of one of them.

    Attributes:
        hits: steps in which its shot hit an opponent; where two are hit by one shot, as the published rules have it,
            they count once.
        hits_error: standard error of ``hits``, from the differences between envs.
        taken: shots of opponents that hit it, counted in the same way.
        kills: opponents that its shots were the last for.
        deaths: of its own, whether by shots, out of bounds or of age.
    """

    hits: float
    hits_error: float
    taken: float
    kills: float
    deaths: float

    @property
    def share(self) -> float:
        """Damage dealt of all damage between it and its opponents: every hit takes as much; NaN where there is none."""
        return self.hits / (self.hits + self.taken) if self.hits + self.taken else math.nan

    def as_dict(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


class Shots:
    """Counts shots of a world, step by step.

    Args:
        world: a world of Deathmatch.
        examined: the agents that are examined.
    """

    def __init__(self, world: World, examined: slice) -> None:
        self._world, self._examined = world, examined
        self._hits = world["health"].new_zeros(world.num_envs)
        self._taken = self._hits.clone()
        self._steps = 0

    def add(self) -> None:
        """Count the latest step."""
        shot, first, end = self._world["shot"], self._examined.start, self._examined.stop
        self._hits += (shot[:, self._examined] >= 0).sum(1)
        self._taken += ((shot >= first) & (shot < end)).sum(1)
        self._steps += 1

    def counts(self) -> Counts:
        """What was counted; kills and deaths are those of the present episode."""
        agents = self._examined.stop - self._examined.start
        scale = PER / (self._steps * agents)
        hits = self._hits.double() * scale
        return Counts(
            hits=float(hits.mean()),
            hits_error=float(hits.std()) / math.sqrt(len(hits)),
            taken=float(self._taken.double().mean()) * scale,
            kills=self._sum("kills") * scale,
            deaths=self._sum("deaths") * scale,
        )

    def _sum(self, name: str) -> float:
        """Of those examined in an env, mean over envs."""
        values: Tensor = self._world[name][:, self._examined]
        return float(values.double().sum(1).mean())


def examine(params: Mapping[str, Any], policy: Policy | None) -> Counts:
    """Let one play among three that act at random, or four that all do and are all examined.

    Args:
        params: the env's parameters.
        policy: who is examined; None acts at random.
    """
    one_long_episode = {"episode_length": STEPS + 1, "kills_to_win": 0}
    environment = get_environment("deathmatch")(**{**params, **ONE_AMONG_THREE, **one_long_episode})
    world = World(environment, NUM_ENVS, device="cpu", seed=SEED, num_workers=1)
    actors = [Actor(world, name, policy if name == "player" else None) for name in world.groups]
    world.reset()
    shots = Shots(world, slice(0, world.num_agents) if policy is None else world.groups["player"].slice)
    for _ in range(STEPS):
        for actor in actors:
            actor.act()
        world.step()
        shots.add()
    return shots.counts()
