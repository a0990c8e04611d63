"""Coins: what the matcher earns from a hider with a habit, whose best response is worth 8 an episode."""

from __future__ import annotations

from warpworld.environment import get_environment
from warpworld.trainers.collecting.players import Scripted
from warpworld.trainers.play import play_groups

from . import experiment
from .experiment import Experiment, Figures, Trained

CPU_SECONDS = 600


def _judge(trained: Trained) -> Figures:
    """The matcher's mean return from the script, whose actions are drawn, and that of a random one."""
    hider = Scripted("biased", get_environment("coins")().scripts()["biased"])
    figures: Figures = {}
    for name, matcher in (("matcher_drawn_return", trained.policies["matcher"]), ("matcher_random_return", None)):
        players = {"matcher": matcher, "hider": hider}
        returns = play_groups(trained.config, players, experiment.EPISODES, seed=1)["matcher"]
        figures[name] = float(returns.mean())
    return {**figures, "seconds": trained.seconds, "cpu_seconds": trained.cpu_seconds}


def _holds(figures: Figures) -> bool:
    return (figures["matcher_drawn_return"] or 0.0) >= 7.6 and (figures["cpu_seconds"] or 1e9) <= CPU_SECONDS


COINS = Experiment(
    name="coins",
    claim="the matcher earns 95 % of 8, what the best response to a hider with a habit is worth",
    changes={},
    curves={"charts/matcher/episodic_return": "matcher: mean return"},
    judge=_judge,
    holds=_holds,
)
