"""Deathmatch: whether who has learnt by self-play beats the walker, the turret, and who it was before."""

from __future__ import annotations

import torch

from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import get_environment
from warpworld.trainers.collecting.players import Player, Scripted
from warpworld.trainers.play import play_groups

from . import experiment
from .experiment import Experiment, Figures, Trained

LEAD = 1.0  # least return of who has more kills: for each 1, and 1 for its damage, of which less than 1 is lost again
DUEL = {"kills_to_win": 3, "episode_length": 1000}  # until the third kill, or for 100 seconds


def _judge(trained: Trained) -> Figures:
    """Shares of duels that are won by more kills, half of them from either side; no draw is."""
    final, earlier = trained.policies["fighter"], trained.earlier["fighter"]
    scripts = get_environment("deathmatch")(**trained.config.env).scripts()
    opponents: dict[str, Player] = {name: Scripted(name, script) for name, script in scripts.items()}
    opponents |= {"itself_at_a_quarter": earlier, "random": None}
    figures: Figures = {f"beats_{name}": wins(trained.config, final, other) for name, other in opponents.items()}
    # Who explores more is the weaker for it; whether it also knows less is seen where nobody explores.
    figures["beats_itself_at_a_quarter_both_greedy"] = wins(trained.config, final, earlier, greedy=True)
    figures |= {f"random_beats_{name}": wins(trained.config, None, opponents[name]) for name in scripts}
    return {**figures, **trained.times}


def wins(config: RunConfig, one: Player, other: Player, greedy: bool = False) -> float:
    """The share of duels that one wins from the other, as many from either side."""
    data = config.to_dict()
    data["env"] |= DUEL
    config, won = config_from_dict(data), []
    for own, theirs in (("player", "rival"), ("rival", "player")):
        returns = play_groups(config, {own: one, theirs: other}, experiment.EPISODES // 2, 1, greedy)
        won.append(returns[own] >= LEAD)
    return float(torch.cat(won).double().mean())


def _holds(figures: Figures) -> bool:
    scripted = all((figures[f"beats_{name}"] or 0.0) >= 0.9 for name in ("walker", "turret"))
    return scripted and (figures["beats_itself_at_a_quarter"] or 0.0) >= 0.7 and (figures["seconds"] or 1e9) <= 1800


DEATHMATCH = Experiment(
    name="deathmatch",
    claim="in a room with a column a fighter wins 90 % of its duels to three kills with the walker and with a turret "
    "that turns a quarter as fast, and 70 % with itself at a quarter of its training, after at most 30 minutes",
    changes={},
    curves={
        "league/fighter/win_rate/script": "mean score against the turret",
        "league/fighter/win_rate/past": "and against past selves",
    },
    judge=_judge,
    holds=_holds,
)
