"""Waypoint and PointGoal: in how many episodes the goal is reached in time."""

from __future__ import annotations

from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained

CPU_SECONDS = 600  # of 5 minutes on two cores


def _judge(trained: Trained) -> Figures:
    """Shares of the goals that are reached in time: reaching one pays 1 and ends the episode."""
    learnt = play(trained.config, trained.policies, experiment.EPISODES, seed=1).returns["walker"]
    random = play(trained.config, {"walker": None}, experiment.EPISODES, seed=1).returns["walker"]
    return {"solved": float(learnt.mean()), "solved_at_random": float(random.mean()), **trained.times}


CURVES = {"charts/walker/episodic_return": "share of goals reached in time"}

WAYPOINT = Experiment(
    name="waypoint",
    claim="an agent reaches at least 90 % of its goals in time, after at most 30 minutes of training",
    changes={},
    curves=CURVES,
    judge=_judge,
    holds=lambda f: f["solved"] >= 0.9 and f["seconds"] <= 1800,  # type: ignore[operator]
)

POINT_GOAL = Experiment(
    name="point_goal",
    claim="an agent that sees its goal once reaches at least twice as many in time as a random one",
    changes={},
    curves=CURVES,
    judge=_judge,
    holds=lambda f: f["solved"] >= 2 * f["solved_at_random"] and f["cpu_seconds"] <= CPU_SECONDS,  # type: ignore[operator]
)
