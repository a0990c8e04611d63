"""Plays whole episodes with any assignment of policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from warpworld.config import RunConfig
from warpworld.trainers.collecting import Player
from warpworld.trainers.group_actors import actor_of, acts_greedily, build_actors
from warpworld.trainers.readings import PlayedMetrics, Rewards
from warpworld.trainers.rounds import play_rounds, played_world
from warpworld.trainers.splitting import EpisodeValues


@dataclass(frozen=True)
class Played:
    """Episodes that were played.

    Attributes:
        returns: for each policy (episodes,) float64: the sum of an agent's rewards over the episode, undiscounted and
            without the rows that do not count, mean over the agents that the policy plays.
        lengths: (episodes,) int64, steps.
        unfinished: how many of the episodes had not ended when the steps were over.
        parts: the same of parts of the episodes, by their labels, where they are split.
        metrics: the environment's own, by name: means over the episodes, and over the agents that took part in each;
            NaN if none did.
    """

    returns: dict[str, Tensor]
    lengths: Tensor
    metrics: dict[str, float]
    unfinished: int = 0
    parts: Mapping[str, Played] = field(default_factory=dict)


def play(
    config: RunConfig,
    policies: Mapping[str, Player],
    episodes: int = 1000,
    seed: int = 0,
    greedy: bool = False,
    steps: int | None = None,
    by: str | None = None,
) -> Played:
    """Play a run's environment.

    Every env plays the same number of episodes from its start, so that short episodes do not count more than long ones.

    Args:
        config: the run's settings.
        policies: a player for each policy of the configuration, by the policy's name; None plays by the script of the
            policy's entry, or acts at random.
        episodes: how many, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing.
        steps: of each env, after which playing stops; episodes that have not ended count as far as they came. None
            plays all to their end.
        by: parameter per env by whose values the episodes are split; None splits them not.

    Raises:
        ConfigError: there is no such parameter.
        RunError: episodes do not end, and there is no limit to the steps.
    """
    world, rounds = played_world(config, episodes, seed)
    actors = build_actors(world, config, policies, greedy)
    metrics = PlayedMetrics(world, rounds)
    values = None if by is None else EpisodeValues(world, by, rounds)
    totals, lengths, finished = play_rounds(
        world, actors, rounds, config.title, Rewards(world), metrics, steps, values=values
    )

    def played(of: Tensor) -> Played:
        returns = {}
        for name in policies:
            agents = [totals[:, :, world.groups[group].slice] for group in config.policy[name].groups]
            returns[name] = torch.cat(agents, dim=2).mean(2)[of]
        return Played(returns, lengths[of], metrics.means(of))

    begun = lengths > 0
    parts = {} if values is None else {label: played(of) for label, of in values.parts(begun)}
    return replace(played(begun), unfinished=int(begun.sum()) - finished, parts=parts)


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
    greedily = {group: greedy or acts_greedily(config, name) for name, group in _served(config)}
    return play_sides(config, players, episodes, seed, greedily).returns


def play_sides(
    config: RunConfig,
    players: Mapping[str, Player],
    episodes: int,
    seed: int,
    greedily: Mapping[str, bool],
    steps: int | None = None,
) -> Played:
    """Play as ``play_groups``, for all that is to be known of the episodes.

    Args:
        config: see ``play_groups``.
        players: see ``play_groups``.
        episodes: see ``play_groups``.
        seed: see ``play_groups``.
        greedily: by group, whether its player takes the likeliest actions instead of drawing.
        steps: see ``play``.

    Returns:
        Episodes whose returns are by group, (episodes, group size) float64: each agent's.

    Raises:
        RunError: episodes do not end, and there are no ``steps``.
    """
    world, rounds = played_world(config, episodes, seed)
    actors = [actor_of(world, group, players[group], greedily[group]) for group in world.groups]
    metrics = PlayedMetrics(world, rounds)
    totals, lengths, finished = play_rounds(world, actors, rounds, config.title, Rewards(world), metrics, steps)
    begun = lengths > 0
    returns = {name: totals[:, :, group.slice][begun] for name, group in world.groups.items()}
    return Played(returns, lengths[begun], metrics.means(), int(begun.sum()) - finished)


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
        self._world, self._rounds = played_world(config, episodes, seed)
        self._actors = [actor_of(self._world, group, player, greedily[group]) for group, player in policies.items()]
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
        totals, *_ = play_rounds(self._world, self._actors, self._rounds, self._name, self._rewards)
        return {name: totals[:, :, group.slice].flatten(0, 1) for name, group in self._world.groups.items()}


def _served(config: RunConfig) -> list[tuple[str, str]]:
    """Each policy's name beside each of its groups'."""
    return [(name, group) for name, entry in config.policy.items() for group in entry.groups]
