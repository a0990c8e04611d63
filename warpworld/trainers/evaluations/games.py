"""The games of an evaluation: who plays which group, and what each policy's return in them is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from warpworld.config import RunConfig, sides_of
from warpworld.policies import Policy
from warpworld.trainers.collecting import Player
from warpworld.trainers.evaluations.rivals import Rival
from warpworld.trainers.group_actors import acts_greedily
from warpworld.trainers.play import Stage

DRAWN, GREEDY = "drawn_return", "greedy_return"


@dataclass(frozen=True)
class Game:
    """Episodes of an evaluation.

    Attributes:
        players: by group.
        read: the groups whose return is read, by the name of the metric that it becomes.
        greedily: by group, whether the likeliest actions are taken; only policies do, scripts are drawn from.
    """

    players: Mapping[str, Player]
    read: Mapping[str, Sequence[str]]
    greedily: Mapping[str, bool]

    def returns(self, stage: Stage) -> dict[str, float]:
        """Play it: the mean return of an agent of each of the groups that are read, by metric."""
        found = stage.play(self.players)
        return {
            name: float(torch.cat([found[group] for group in groups], 1).mean(1).mean())
            for name, groups in self.read.items()
        }


def games_of(
    config: RunConfig, policies: Mapping[str, Player], names: Sequence[str], rivals: Sequence[Rival]
) -> list[Game]:
    """Games of an evaluation: all policies as trained, then each of ``names`` against each rival.

    Args:
        config: the run's settings.
        policies: who plays each policy's groups, by its name.
        names: of those that are evaluated.
        rivals: whom each of them meets.
    """
    served = {group: name for name, entry in config.policy.items() for group in entry.groups}
    games = []

    def add(kind: str, players: Mapping[str, Player], read: Mapping[str, Sequence[str]]) -> None:
        greedily = {
            group: isinstance(player, Policy) and (kind == GREEDY or acts_greedily(config, served[group]))
            for group, player in players.items()
        }
        games.append(Game(players, read, greedily))

    for kind in kinds_of(config, names):
        together = {group: policies[name] for group, name in served.items()}
        add(kind, together, {f"eval/{name}/{kind}": config.policy[name].groups for name in names})
        for name in names:
            own, theirs = sides_of(config, name)
            for rival in rivals:
                players: dict[str, Player] = {group: policies[name] for group in own}
                players |= {group: rival.player(served[group]) for group in theirs}
                add(kind, {group: players[group] for group in served}, {f"eval/{name}/{kind}/{rival.name}": own})
    return games


def kinds_of(config: RunConfig, names: Sequence[str]) -> list[str]:
    """Modes of each game: with actions drawn, unless all policies are greedy by themselves, and greedily."""
    return [GREEDY] if all(acts_greedily(config, name) for name in names) else [DRAWN, GREEDY]
