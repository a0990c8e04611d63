"""Returns of a run's policies, beside those of random actions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from torch import Tensor

from warpworld.runs import Which
from warpworld.trainers.evaluations import measures_of, play_by_search
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.opponents import games_against
from warpworld.trainers.play import Played, play

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.runs import Run

NORMAL_95 = 1.959964  # half-width of a 95% interval, in standard errors


def evaluate(
    run: Run,
    episodes: int = 1000,
    seed: int = 0,
    greedy: bool = False,
    checkpoint: Which = None,
    steps: int | None = None,
    played_in: RunConfig | None = None,
    simulations: int | None = None,
    opponents: Sequence[str] = (),
    by: str | None = None,
) -> dict[str, dict[str, float]]:
    """Measure the mean return of each policy of a run's checkpoint.

    A return is the sum of an agent's rewards over one episode, undiscounted and without the rows that do not count; a
    policy's is the mean over its agents. Every env plays the same number of episodes from its start, so that short
    episodes do not count more than long ones. Where a script plays a policy's groups, it does so in every pairing.

    Args:
        run: an open run folder with a checkpoint.
        episodes: episodes of each pairing, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing.
        checkpoint: the iteration whose checkpoint is played; None takes the latest, "best" each policy's weights with
            the best evaluation.
        steps: of each env, after which each pairing stops; episodes that have not ended count as far as they came.
            None plays all to their end.
        played_in: the run's configuration with other parameters of the environment, as ``with_env`` makes it; None
            plays as trained.
        simulations: of the search by which policies of ``gumbel_zero`` play, 0 for none; None takes their settings.
        opponents: scripts of the environment, "random", run folders or RUN#NAME, each of which plays the groups of the
            other policies while one plays its own.
        by: parameter that each env has a value of its own of, by which returns and metrics as trained are split.

    Returns:
        For each policy: ``mean_return`` with all policies as trained, ``confidence``, the half-width of its 95%
        interval, ``against_random``, its mean return while the other policies act at random, and ``random_return``, its
        mean return with random actions of all; ``episodes`` with all policies as trained, and how many of them are
        ``unfinished``; then the environment's own metrics with all policies as trained, those
        per env and those of its groups: means over the episodes, by the names that a run logs them under; and what it
        measures of all policies together, likewise. Behind each of these metrics' names stand "/random" for random
        actions of all, "/against_random" where there are other policies, and "/against/OPPONENT" for each opponent;
        "against/OPPONENT" has the policy's mean return. With ``by``, "/BY=VALUE" stands behind the names of what is of
        episodes with that value: of "mean_return", "episodes" and the metrics.

    Raises:
        ConfigError: an opponent does not exist, or there is no group for it; or ``by`` is no parameter per env.
        RunError: there is no checkpoint, or it does not fit; or episodes do not end, and there are no ``steps``; or no
            policy plays by search, and ``simulations`` are given.
    """
    config = played_in or run.config
    trained = load_policies(run, checkpoint)
    if simulations is not None:
        play_by_search(trained, simulations)

    play_with = partial(play, config, episodes=episodes, seed=seed, greedy=greedy, steps=steps)

    # pairings that every policy is measured by
    played, at_random = play_with(trained, by=by), play_with(dict.fromkeys(trained))
    measures = measures_of(config, config.make_environment(), trained, greedy)
    games = games_against(config, trained, opponents, greedy)
    # each policy, against others that act at random, and against opponents
    results = {}
    for name in trained:
        others_random = {other: policy if other == name else None for other, policy in trained.items()}
        alone = played if others_random == trained else play_with(others_random)
        pairings = {"random": at_random} | ({} if alone is played else {"against_random": alone})
        pairings |= {label: game.play(config, episodes, seed, steps) for label, game in games[name].items()}
        groups = config.policy[name].groups
        results[name] = {
            **_returns_of(name, played, alone, at_random),
            **_metrics_of(groups, played.metrics),
            **measures,
            **{label: games[name][label].mean_return(pairings[label]) for label in games[name]},
        }
        for label, other in {**pairings, **played.parts}.items():
            own = _metrics_of(groups, other.metrics)
            results[name] |= {f"{metric}/{label}": value for metric, value in own.items()}
    return results


def _returns_of(name: str, played: Played, alone: Played, at_random: Played) -> dict[str, float]:
    """A policy's returns in the three pairings that each policy has, and in the parts of the first."""
    mean, confidence = _mean_and_confidence(played.returns[name])
    found = {
        "mean_return": mean,
        "confidence": confidence,
        "against_random": float(alone.returns[name].mean()),
        "random_return": float(at_random.returns[name].mean()),
        "episodes": len(played.lengths),
        "unfinished": played.unfinished,
    }
    for label, part in played.parts.items():
        found |= {f"mean_return/{label}": float(part.returns[name].mean()), f"episodes/{label}": len(part.lengths)}
    return found


def _metrics_of(groups: Sequence[str], metrics: Mapping[str, float]) -> dict[str, float]:
    """The metrics per env, and those of some groups."""
    parts = {name: name.split("/") for name in metrics}
    return {name: metrics[name] for name, (_, *group, _) in parts.items() if not group or group[0] in groups}


def _mean_and_confidence(returns: Tensor) -> tuple[float, float]:
    """Mean, and half-width of its 95% interval."""
    if len(returns) < 2:
        return float(returns.mean()), float("inf")
    return float(returns.mean()), NORMAL_95 * float(returns.std()) / math.sqrt(len(returns))
