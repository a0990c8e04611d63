"""Games of a finished run's policies against opponents that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from warpworld.config import RunConfig, absolute_runs, check_opponents, sides_with_opponent
from warpworld.policies import Policy
from warpworld.trainers.collecting import Player, player_of
from warpworld.trainers.evaluations import build_rivals, read_rivals
from warpworld.trainers.group_actors import acts_greedily
from warpworld.trainers.play import Played, play_sides

WHERE, KEY = "command line", ("opponent",)  # for messages


@dataclass(frozen=True)
class OpponentGame:
    """Episodes in which a policy plays its groups, and an opponent all others.

    Attributes:
        players: by group.
        groups: those of the policy.
        greedily: by group, whether the likeliest actions are taken.
    """

    players: Mapping[str, Player]
    groups: Sequence[str]
    greedily: Mapping[str, bool]

    def play(self, config: RunConfig, episodes: int, seed: int, steps: int | None) -> Played:
        """Play it; arguments and errors as of ``play_sides``."""
        return play_sides(config, self.players, episodes, seed, self.greedily, steps)

    def mean_return(self, played: Played) -> float:
        """The mean return of the policy's agents in episodes that were played."""
        return float(torch.cat([played.returns[group] for group in self.groups], 1).mean())


def games_against(
    config: RunConfig, policies: Mapping[str, Policy | None], opponents: Sequence[str], greedy: bool
) -> dict[str, dict[str, OpponentGame]]:
    """The games of each policy, by its name and then by "against/OPPONENT".

    Args:
        config: the run's settings.
        policies: by name; None plays by its entry's script, or acts at random.
        opponents: as ``saving.eval_opponents`` names them.
        greedy: take the likeliest actions of policies; all others draw.

    Raises:
        ConfigError: an opponent does not exist, or there is no group for it.
        RunError: the weights of a run that is named do not fit.
    """
    if not opponents:
        return {name: {} for name in policies}
    environment = config.make_environment()
    scripts = environment.scripts()
    check_opponents(opponents, scripts, KEY, WHERE)
    served = {group: name for name, entry in config.policy.items() for group in entry.groups}
    sides = {name: sides_with_opponent(config, name, KEY, WHERE) for name in policies}
    saving = config.saving.model_copy(update={"eval_opponents": absolute_runs(opponents, scripts)})
    met = {served[group] for _, theirs in sides.values() for group in theirs}
    unfused = config.trainer.model_copy(update={"fused": False})  # as policies are loaded: they may go to a GPU
    settings = config.model_copy(update={"saving": saving, "trainer": unfused})
    rivals = build_rivals(settings, met, torch.device("cpu"))
    read_rivals(rivals)
    own_players = {name: player_of(policy, config.policy[name], environment) for name, policy in policies.items()}
    games: dict[str, dict[str, OpponentGame]] = {}
    for name, (own, theirs) in sides.items():
        games[name] = {}
        for rival in rivals:
            players: dict[str, Player] = {group: own_players[name] for group in own}
            players |= {group: rival.player(served[group]) for group in theirs}
            greedily = {
                group: isinstance(player, Policy) and (greedy or acts_greedily(config, served[group]))
                for group, player in players.items()
            }
            games[name][f"against/{rival.name}"] = OpponentGame(players, own, greedily)
    return games
