"""What trained policies earn when they play greedily, beside random ones: the usual examination of a config."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from warpworld.trainers.play import play

from .experiment import Experiment, Figures, Trained

EPISODES = 1000  # of the examination; on Pendulum the mean of 100 has a standard error of 9


@dataclass(frozen=True)
class Wanted:
    """What policies are to reach.

    Attributes:
        returns: policy -> mean return of an agent and episode, at least.
        seconds: wall time of the training, at most.
        cpu_seconds: the same of the CPU time of all threads.
        random: policies that act at random in the examination: the opponents of those that are judged.
        greedy: whether policies take their likeliest actions, or draw.
        episodes: of the examination.
    """

    returns: Mapping[str, float]
    seconds: float = math.inf
    cpu_seconds: float = math.inf
    random: tuple[str, ...] = field(default=())
    greedy: bool = True
    episodes: int = EPISODES


def learns(config: str, claim: str, wanted: Wanted) -> Experiment:
    """An experiment that trains a packaged config as it is."""

    label = "greedy" if wanted.greedy else "drawn"

    def judge(trained: Trained) -> Figures:
        learnt = {name: None if name in wanted.random else policy for name, policy in trained.policies.items()}
        untrained = dict.fromkeys(trained.policies)
        figures: Figures = {}
        for played_by, players in ((label, learnt), ("random", untrained)):
            played = play(trained.config, players, wanted.episodes, seed=1, greedy=wanted.greedy)
            figures |= {f"{name}_{played_by}_return": float(played.returns[name].mean()) for name in wanted.returns}
        return {**figures, **trained.times}

    def holds(figures: Figures) -> bool:
        least = {f"{name}_{label}_return": value for name, value in wanted.returns.items()}
        most = {"seconds": wanted.seconds, "cpu_seconds": wanted.cpu_seconds}
        known = {name: value for name, value in figures.items() if value is not None}
        return all(known.get(name, -math.inf) >= value for name, value in least.items()) and all(
            known.get(name, math.inf) <= value for name, value in most.items()
        )

    curves = {f"charts/{name}/episodic_return": f"{name}: mean return while exploring" for name in wanted.returns}
    return Experiment(name=config, claim=claim, changes={}, curves=curves, judge=judge, holds=holds)
