"""Plays whole episodes with any assignment of policies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.config import LearnerConfig, RunConfig
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.building import build_world
from warpworld.trainers.collecting import Actor, Player
from warpworld.trainers.readings import PlayedMetrics, Rewards
from warpworld.world import World

MAX_ENVS = 1024
PATIENCE = 100_000  # steps in which no episode ends, before it is reported that none will


@dataclass(frozen=True)
class Played:
    """Episodes that were played.

    Attributes:
        returns: for each policy (episodes,) float64: the sum of an agent's rewards over the episode, undiscounted and
            without the rows that do not count, mean over the agents that the policy plays.
        lengths: (episodes,) int64, steps.
        unfinished: how many of the episodes had not ended when the steps were over.
        metrics: the environment's own, by name: means over the episodes, and over the agents that took part in each;
            NaN if none did.
    """

    returns: dict[str, Tensor]
    lengths: Tensor
    metrics: dict[str, float]
    unfinished: int = 0


def play(
    config: RunConfig,
    policies: Mapping[str, Player],
    episodes: int = 1000,
    seed: int = 0,
    greedy: bool = False,
    steps: int | None = None,
) -> Played:
    """Play a run's environment.

    Every env plays the same number of episodes from its start, so that short episodes do not count more than long ones.

    Args:
        config: the run's settings.
        policies: a player for each policy of the configuration, by the policy's name; None acts at random.
        episodes: how many, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing.
        steps: of each env, after which playing stops; episodes that have not ended count as far as they came. None
            plays all to their end.

    Raises:
        RunError: episodes do not end, and there is no limit to the steps.
    """
    world, rounds = _world(config, episodes, seed)
    actors = build_actors(world, config, policies, greedy)
    metrics = PlayedMetrics(world, rounds)
    totals, lengths, finished = _play(world, actors, rounds, config.title, Rewards(world), metrics, steps)
    begun = lengths > 0
    returns = {}
    for name in policies:
        agents = [totals[:, :, world.groups[group].slice] for group in config.policy[name].groups]
        returns[name] = torch.cat(agents, dim=2).mean(2)[begun]
    return Played(returns, lengths[begun], metrics.means(), int(begun.sum()) - finished)


def play_groups(
    config: RunConfig, players: Mapping[str, Player], episodes: int, seed: int, greedy: bool = False
) -> dict[str, Tensor]:
    """Play a run's environment with a player for each group, whichever policy the configuration gives it.

    Args:
        config: the run's settings.
        players: by group.
        episodes: how many, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing; random ones stay random.

    Returns:
        For each group (episodes, group size) float64: each agent's return, as in ``Played``.

    Raises:
        RunError: episodes do not end.
    """
    world, rounds = _world(config, episodes, seed)
    greedily = {group: greedy or acts_greedily(config, name) for name, group in _served(config)}
    actors = [_actor(world, group, players[group], greedily[group]) for group in world.groups]
    totals, *_ = _play(world, actors, rounds, config.title, Rewards(world))
    return {name: totals[:, :, group.slice].flatten(0, 1) for name, group in world.groups.items()}


def whole_rounds(episodes: int) -> int:
    """Number of episodes played if ``episodes`` are asked for: every env plays as many."""
    num_envs = min(episodes, MAX_ENVS)
    return math.ceil(episodes / num_envs) * num_envs


class Stage:
    """A world in which the same episodes can be played again and again, by one set of players after the other.

    Attributes:
        greedily: by group, whether its players take the likeliest actions instead of drawing them.

    Args:
        config: the run's settings.
        policies: what plays each group first; a group whose players remember begins with one that does.
        episodes: how many, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedily: see above.
    """

    def __init__(
        self, config: RunConfig, policies: Mapping[str, Player], episodes: int, seed: int, greedily: Mapping[str, bool]
    ) -> None:
        self._name, self.greedily = config.title, greedily
        self._world, self._rounds = _world(config, episodes, seed)
        self._actors = [_actor(self._world, group, player, greedily[group]) for group, player in policies.items()]
        self._rewards = Rewards(self._world)
        self._world.seal()
        self._start = self._world.snapshot()

    def play(self, players: Mapping[str, Player]) -> dict[str, Tensor]:
        """Play all episodes from their start.

        Args:
            players: by group; one that acts at random only where the group's actions are drawn.

        Returns:
            For each group (episodes, group size) float64: each agent's return, as in ``Played``.

        Raises:
            RunError: episodes do not end.
        """
        self._world.restore(self._start)
        for actor in self._actors:
            actor.policy = players[actor.group.name]
        totals, *_ = _play(self._world, self._actors, self._rounds, self._name, self._rewards)
        return {name: totals[:, :, group.slice].flatten(0, 1) for name, group in self._world.groups.items()}


def _world(config: RunConfig, episodes: int, seed: int) -> tuple[World, int]:
    """An unsealed world to play episodes in, and how many each of its envs plays."""
    num_envs = min(episodes, MAX_ENVS)
    return build_world(config, num_envs, seed), whole_rounds(episodes) // num_envs


def build_actors(world: World, config: RunConfig, policies: Mapping[str, Player], greedy: bool = False) -> list[Actor]:
    """Build one actor for each group of an unsealed world; they record nothing.

    Args:
        world: the world that they act in.
        config: knows which groups each policy plays.
        policies: by name, or who plays instead of one; None acts at random.
        greedy: take the likeliest actions instead of drawing; random ones stay random.
    """
    return [
        _actor(world, group, policy, greedy or acts_greedily(config, name))
        for name, policy in policies.items()
        for group in config.policy[name].groups
    ]


def _served(config: RunConfig) -> list[tuple[str, str]]:
    """Each policy's name beside each of its groups'."""
    return [(name, group) for name, entry in config.policy.items() for group in entry.groups]


def acts_greedily(config: RunConfig, name: str) -> bool:
    """Whether a policy's algorithm always takes the likeliest action outside of training."""
    entry = config.policy[name]
    return isinstance(entry, LearnerConfig) and get_algorithm(entry.algorithm).acts_greedily


def _actor(world: World, group: str, player: Player, greedy: bool) -> Actor:
    if isinstance(player, Policy):
        player.to(world.device)
    return Actor(world, group, player, "act_greedily" if greedy and player is not None else "act")


def _play(
    world: World,
    actors: Sequence[Actor],
    rounds: int,
    name: str,
    rewards: Rewards,
    metrics: PlayedMetrics | None = None,
    steps: int | None = None,
) -> tuple[Tensor, Tensor, int]:
    """Play all rounds, or for some steps.

    Returns:
        Each agent's return in each episode, (num_envs, rounds, num_agents) float64; lengths (num_envs, rounds), 0 of
        episodes that were not begun; and how many of the episodes ended.
    """
    world.reset()
    # what comes after an env's last round falls into a spare column
    totals = torch.zeros(world.num_envs, rounds + 1, world.num_agents, dtype=torch.float64)
    lengths = torch.zeros(world.num_envs, rounds + 1, dtype=torch.int64)
    finished = torch.zeros(world.num_envs, dtype=torch.int64)
    envs = torch.arange(world.num_envs)
    steps_without_end = taken = 0
    while int(finished.min()) < rounds and taken != steps:
        for actor in actors:
            actor.act()
        world.step()
        taken += 1
        episode = finished.clamp(max=rounds)
        totals[envs, episode] += rewards.of_step().cpu()
        lengths[envs, episode] += 1
        if metrics is not None:
            metrics.take(episode, rewards.mask())
        ended = (world["terminated"] | world["truncated"]).cpu()
        finished += ended
        steps_without_end = 0 if bool(ended.any()) else steps_without_end + 1
        if steps_without_end == PATIENCE and steps is None:
            raise RunError(
                f"no episode of {name} ended in {PATIENCE:,} steps; give it a time limit, or stop after some steps: "
                "warpworld eval RUN --steps 1000"
            )
    return totals[:, :rounds], lengths[:, :rounds], int(finished.clamp(max=rounds).sum())
