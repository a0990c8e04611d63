"""Epidemic: whether what is learnt serves the nation better than the best constant strictness does."""

from __future__ import annotations

import torch

from warpworld.trainers.building import build_world
from warpworld.trainers.play import play

from .experiment import Experiment, Figures, Trained

EPISODES = 200
CPU_SECONDS = 1800  # of 15 minutes on two cores


def _judge(trained: Trained) -> Figures:
    figures: Figures = {}
    for name, policies in {"learnt": trained.policies, "random": dict.fromkeys(trained.policies)}.items():
        returns = play(trained.config, policies, EPISODES, seed=1, greedy=True).returns
        figures |= {f"{name}_{policy}_return": float(returns[policy].mean()) for policy in policies}
    levels = range(1, trained.config.env.get("levels", 10) + 1)
    constant = {level: _constant(trained, level) for level in levels}
    best = max(constant, key=constant.__getitem__)
    figures |= {"best_constant_strictness": best, "constant_government_return": constant[best]}
    return {**figures, "seconds": trained.seconds, "cpu_seconds": trained.cpu_seconds}


def _constant(trained: Trained, level: int) -> float:
    """The government's mean return where all regions have one strictness from the first day on, without subsidies."""
    world = build_world(trained.config, EPISODES, 1)
    world.reset()
    world["actions_region"] = level
    world["actions_government"] = 0
    total, ended = torch.zeros(EPISODES, dtype=torch.float64), False
    while not ended:
        world.step()
        total += world["rewards"][:, -1]
        ended = bool(world["truncated"].any())  # all at once
    return float(total.mean())


def _holds(figures: Figures) -> bool:
    known = {name: value for name, value in figures.items() if value is not None}
    better = known["learnt_government_return"] > known["constant_government_return"]
    return better and known["cpu_seconds"] <= CPU_SECONDS


EPIDEMIC = Experiment(
    name="epidemic",
    claim="the nation fares better than under the best constant strictness of all regions",
    changes={},
    curves={
        "charts/government/episodic_return": "government: mean return while exploring",
        "charts/region/episodic_return": "regions: mean return while exploring",
    },
    judge=_judge,
    holds=_holds,
)
