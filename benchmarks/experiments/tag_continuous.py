"""Tag on a plane: whether both sides are better than random ones, against either opponent."""

from __future__ import annotations

from warpworld.trainers.play import play

from . import experiment
from .experiment import Experiment, Figures, Trained


def _judge(trained: Trained) -> Figures:
    """Cross-play: each side's mean return, trained and at random, against the other side trained and at random."""
    figures: Figures = trained.times
    for tagger in ("trained", "random"):
        for runner in ("trained", "random"):
            chosen = {"tagger": tagger, "runner": runner}
            policies = {n: trained.policies[n] if how == "trained" else None for n, how in chosen.items()}
            returns = play(trained.config, policies, experiment.EPISODES, seed=1).returns
            for name in chosen:
                figures[f"{name}_when_{tagger}_meets_{runner}"] = float(returns[name].mean())
    return figures


def _both_sides_are_better(figures: Figures) -> bool:
    """Whether each trained side is better than a random one, against a random and against a trained opponent."""

    def of(name: str, tagger: str, runner: str) -> float:
        return figures[f"{name}_when_{tagger}_meets_{runner}"] or 0.0

    taggers = all(of("tagger", "trained", other) > of("tagger", "random", other) for other in ("trained", "random"))
    runners = all(of("runner", other, "trained") > of("runner", other, "random") for other in ("trained", "random"))
    return taggers and runners


TAG_CONTINUOUS = Experiment(
    name="tag_continuous",
    claim="5 taggers and 20 runners that learn together are both better than random ones, against either opponent",
    changes={
        "env": {"num_taggers": 5, "num_runners": 20, "episode_length": 200},
        "trainer": {"num_envs": 64, "num_steps": 50, "total_env_steps": 960_000},
    },
    curves={
        "charts/tagger/episodic_return": "return of a tagger",
        "charts/runner/episodic_return": "return of a runner",
    },
    judge=_judge,
    holds=_both_sides_are_better,
)
