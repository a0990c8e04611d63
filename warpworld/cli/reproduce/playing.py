"""Episodes that a run is judged by: scores of drawn, of likeliest and of random actions."""

from __future__ import annotations

import math
from collections.abc import Mapping

from warpworld.cli.reproduce.sections import Judged
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers import load_policies
from warpworld.trainers.play import play

EXAMINED_WITH = 1  # the seed of the episodes


def scores_of(run: Run, how: Judged) -> Mapping[str, float]:
    """Scores of a run's newest policies: ``drawn``, ``greedy`` and ``at_random``.

    Args:
        run: with a checkpoint.
        how: it is judged.

    Raises:
        RunError: there is no checkpoint, episodes do not end, or the metric is no number.
    """
    policies = load_policies(run)
    players = {
        "drawn": policies,
        "greedy": policies,
        "at_random": {name: None if run.config.policy[name].train else policy for name, policy in policies.items()},
    }
    found = {}
    for name, playing in players.items():
        played = play(run.config, playing, how.episodes, EXAMINED_WITH, greedy=name == "greedy")
        if how.metric in played.returns:
            value = agents_in(run, how) * float(played.returns[how.metric].mean())
        else:
            value = played.metrics[how.metric]
        if not math.isfinite(value):
            raise RunError(f"run '{run.path}': {how.metric} is {value} over {how.episodes:,} episodes")
        found[name] = value
    return found


def agents_in(run: Run, how: Judged) -> int:
    """Factor of a mean return over a policy's agents: their number, where a score is their sum."""
    if how.agents == "mean" or how.metric not in run.config.policy:
        return 1
    sizes = {group.name: group.size for group in run.config.make_environment().groups()}
    return sum(sizes[group] for group in run.config.policy[how.metric].groups)
