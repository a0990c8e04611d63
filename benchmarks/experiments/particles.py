"""Games of particles: what each learns, and of those with two sides, each side against random opponents."""

from __future__ import annotations

import math
from collections.abc import Mapping

from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained
from .greedy import Wanted, learns

CPU_SECONDS = 600  # of 5 minutes on two cores


def both_sides(config: str, claim: str, wanted: Mapping[str, float]) -> Experiment:
    """Each side that has learnt plays greedily against random ones, and is to reach a mean return of its agents."""

    def judge(trained: Trained) -> Figures:
        untrained = dict.fromkeys(wanted)
        games = {name: {**untrained, name: trained.policies[name]} for name in wanted}
        figures: Figures = {}
        for name, players in games.items():
            for label, playing in (("greedy", players), ("random", untrained)):
                returns = play(trained.config, playing, experiment.EPISODES, seed=1, greedy=True).returns
                figures[f"{name}_{label}_return"] = float(returns[name].mean())
        return {**figures, "seconds": trained.seconds, "cpu_seconds": trained.cpu_seconds}

    def holds(figures: Figures) -> bool:
        known = {name: value for name, value in figures.items() if value is not None}
        in_time = known.get("cpu_seconds", math.inf) <= CPU_SECONDS
        return in_time and all(known.get(f"{name}_greedy_return", -math.inf) >= least for name, least in wanted.items())

    curves = {f"charts/{name}/episodic_return": f"{name}: mean return while exploring" for name in wanted}
    return Experiment(name=config, claim=claim, changes={}, curves=curves, judge=judge, holds=holds)


PARTICLES = (
    learns("particles_spread", "greedy episodes of -12", Wanted({"agent": -12.0}, cpu_seconds=CPU_SECONDS)),
    learns("particles_spread_mappo", "greedy episodes of -12", Wanted({"agent": -12.0}, cpu_seconds=CPU_SECONDS)),
    both_sides(
        "particles_push",
        "against random opponents, episodes of 8 for the adversary and of -9 for the agent",
        {"adversary": 8.0, "agent": -9.0},
    ),
    both_sides(
        "particles_adversary",
        "against random opponents, episodes of -20 for the adversary and of 17 for the agents",
        {"adversary": -20.0, "agent": 17.0},
    ),
    both_sides(
        "particles_pursuit",
        "against random opponents, episodes of 40 for the adversaries and of -8 for the agent",
        {"adversary": 40.0, "agent": -8.0},
    ),
)
