"""Episodes that a run is judged by: scores of drawn, of likeliest and of random actions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from warpworld.cli.reproduce.sections import Judged
from warpworld.config import RunConfig, ScriptConfig, with_env
from warpworld.errors import RunError, suggest
from warpworld.runs import Run
from warpworld.trainers import load_policies, measures_of
from warpworld.trainers.play import play

EXAMINED_WITH = 1  # the seed of the episodes


def scores_of(run: Run, how: Judged) -> dict[str, Any]:
    """Scores of a run's newest policies: ``drawn``, ``greedy`` and ``at_random``; and ``references``, those of scripts.

    Args:
        run: with a checkpoint.
        how: it is judged.

    Raises:
        RunError: there is no checkpoint, episodes do not end, or the metric is no number.
        ConfigError: the policies could not play with the table's parameters.
    """
    policies = load_policies(run)
    config = judged_config(run, how)
    untrained = {name: None if run.config.policy[name].train else policy for name, policy in policies.items()}
    players = {"drawn": policies, "greedy": policies, "at_random": untrained}
    found: dict[str, Any] = {
        name: _score(run, config, playing, how, name == "greedy") for name, playing in players.items()
    }
    scripted = {name: _by_script(config, name) for name in how.references}
    found["references"] = {name: _score(run, by_it, untrained, how) for name, by_it in scripted.items()}
    return found


def judged_config(run: Run, how: Judged) -> RunConfig:
    """The configuration in which a run's policies are judged.

    Raises:
        ConfigError: the policies could not play with the table's parameters.
    """
    return with_env(run.config, how.env, "judged.env")


def _score(run: Run, config: RunConfig, playing: Mapping[str, Any], how: Judged, greedy: bool = False) -> float:
    """The score of players in a configuration."""
    if how.is_measured:
        return _measured(run, config, playing, how.metric, greedy)
    played = play(config, playing, how.episodes, EXAMINED_WITH, greedy=greedy)
    if how.metric in played.returns:
        value = agents_in(run, how) * float(played.returns[how.metric].mean())
    else:
        value = played.metrics[how.metric]
    if not math.isfinite(value):
        raise RunError(f"run '{run.path}': {how.metric} is {value} over {how.episodes:,} episodes")
    return value


def _measured(run: Run, config: RunConfig, playing: Mapping[str, Any], metric: str, greedy: bool) -> float:
    """What the environment measures of the policies themselves, without an episode."""
    found = measures_of(config, config.make_environment(), playing, greedy)
    if metric not in found:
        known = ", ".join(found) or "nothing of policies with a memory or actions in a Box"
        raise RunError(f"run '{run.path}': {metric} is not measured.{suggest(metric, found)} Known: {known}")
    return found[metric]


def _by_script(config: RunConfig, script: str) -> RunConfig:
    """The configuration with a script of the environment in place of every policy that learns."""
    scripted = {
        name: ScriptConfig(groups=entry.groups, script=script) if entry.train else entry
        for name, entry in config.policy.items()
    }
    return config.model_copy(update={"policy": scripted})


def agents_in(run: Run, how: Judged) -> int:
    """Factor of a mean return over a policy's agents: their number, where a score is their sum."""
    if how.agents == "mean" or how.metric not in run.config.policy:
        return 1
    sizes = {group.name: group.size for group in run.config.make_environment().groups()}
    return sum(sizes[group] for group in run.config.policy[how.metric].groups)
