"""Tag on a grid: how soon taggers catch a random runner."""

from __future__ import annotations

from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained


def _judge(trained: Trained) -> Figures:
    """Steps to the catch of a random runner; an episode in which it gets away counts its 100 steps."""
    learnt = play(trained.config, trained.policies, experiment.EPISODES, seed=1)
    random = play(trained.config, dict.fromkeys(trained.policies), experiment.EPISODES, seed=1)
    return {
        "steps": float(learnt.lengths.double().mean()),
        "steps_of_random_taggers": float(random.lengths.double().mean()),
        **trained.times,
    }


TAG_GRIDWORLD = Experiment(
    name="tag_gridworld",
    claim="taggers catch a random runner in under half the steps that random taggers need, within 3 minutes",
    changes={
        "policy": {"tagger": {"gamma": 0.95}, "runner": {"algorithm": "random"}},
        "trainer": {"total_env_steps": 3_000_000},
    },
    curves={"charts/episodic_length": "steps to the catch"},
    judge=_judge,
    holds=lambda f: f["steps"] < f["steps_of_random_taggers"] / 2 and f["seconds"] <= 180,  # type: ignore[operator]
)
