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
EARLIER = "earlier"  # the policy after a part of the training


def scores_of(run: Run, how: Judged) -> dict[str, Any]:
    """Scores of a run's newest policies: ``drawn``, ``greedy`` and ``at_random``; and ``references``, those of scripts.

    Where the table names opponents, a score is the worst of those against each, and ``against`` has them all, and that
    against an earlier self.

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
    faced = {script: _facing(config, script) for script in how.opponents} or {"": config}
    by_opponent: dict[str, dict[str, float]] = {
        opponent: {name: _score(run, facing, playing, how, name == "greedy") for name, playing in players.items()}
        for opponent, facing in faced.items()
    }
    worst = max if how.lower_is_better else min
    found: dict[str, Any] = {name: worst(scores[name] for scores in by_opponent.values()) for name in players}
    if how.opponents:
        found["against"] = {name: (scores["drawn"], scores["greedy"]) for name, scores in by_opponent.items()}
    if how.earlier is not None:
        facing = _facing(config, EARLIER, by_script=False)
        then = load_policies(run, _iteration_near(run, how.earlier))
        playing = {**policies, **{_name_of(EARLIER, name): policy for name, policy in then.items()}}
        scores = [_score(run, facing, playing, how, greedy) for greedy in (False, True)]
        found.setdefault("against", {})[f"itself at {how.earlier:g}"] = (scores[0], scores[1])
    found["references"] = {
        name: worst(_score(run, _by_script(facing, name), untrained, how) for facing in faced.values())
        for name in how.references
    }
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
    players = {name: playing.get(name) for name in config.policy}
    played = play(config, players, how.episodes, EXAMINED_WITH, greedy=greedy)
    if how.metric in played.returns:
        value = agents_in(run, how) * float(played.returns[how.metric].mean())
    else:
        value = played.metrics[how.metric]
    if not math.isfinite(value):
        raise RunError(f"run '{run.path}': {how.metric} is {value} over {how.episodes:,} episodes")
    return value


def _facing(config: RunConfig, opponent: str, by_script: bool = True) -> RunConfig:
    """The configuration with an opponent in place of every policy that learns, in all of its groups but the first.

    Args:
        config: of the run.
        opponent: a script, or another name for one of the same kind as the policy.
        by_script: which of the two.
    """
    faced = dict(config.policy)
    for name, entry in config.policy.items():
        if entry.train and len(entry.groups) > 1:
            own, theirs = entry.groups[:1], entry.groups[1:]
            faced[name] = entry.model_copy(update={"groups": own, "self_play": None})
            faced[_name_of(opponent, name)] = (
                ScriptConfig(groups=theirs, script=opponent)
                if by_script
                else entry.model_copy(update={"groups": theirs, "self_play": None})
            )
    return config.model_copy(update={"policy": faced})


def _measured(run: Run, config: RunConfig, playing: Mapping[str, Any], metric: str, greedy: bool) -> float:
    """Measure of the environment on the policies themselves, without an episode."""
    found = measures_of(config, config.make_environment(), playing, greedy)
    if metric not in found:
        known = ", ".join(found) or "nothing of policies with a memory or actions in a Box"
        raise RunError(f"run '{run.path}': {metric} is not measured.{suggest(metric, found)} Known: {known}")
    return found[metric]


def _name_of(opponent: str, policy: str) -> str:
    """The entry of a policy's opponent."""
    return f"{opponent} against {policy}"


def _iteration_near(run: Run, share: float) -> int:
    """The checkpoint that is nearest to a share of the training."""
    checkpoints = run.checkpoints()
    return min(checkpoints, key=lambda iteration: abs(iteration - share * checkpoints[-1]))


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
