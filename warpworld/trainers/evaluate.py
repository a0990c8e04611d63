"""Returns of a run's policies, beside those of random actions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from warpworld.policies import Policy
from warpworld.runs import Which
from warpworld.trainers.evaluations import measures_of, play_by_search
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.play import play

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

    Returns:
        For each policy: ``mean_return`` with all policies as trained, ``confidence``, the half-width of its 95%
        interval, ``against_random``, its mean return while the other policies act at random, and ``random_return``, its
        mean return with random actions of all; ``episodes`` with all policies as trained, and how many of them are
        ``unfinished``; then the environment's own metrics with all policies as trained, those
        per env and those of its groups: means over the episodes, by the names that a run logs them under; and what it
        measures of all policies together, likewise.

    Raises:
        RunError: there is no checkpoint, or it does not fit; or episodes do not end, and there are no ``steps``; or no
            policy plays by search, and ``simulations`` are given.
    """
    config = played_in or run.config
    trained = load_policies(run, checkpoint)
    if simulations is not None:
        play_by_search(trained, simulations)

    def returns_of(policies: Mapping[str, Policy | None]) -> dict[str, Tensor]:
        return play(config, policies, episodes, seed, greedy, steps).returns

    # pairings that every policy is measured by
    played = play(config, trained, episodes, seed, greedy, steps)
    together, at_random = played.returns, returns_of(dict.fromkeys(trained))
    measures = measures_of(config, config.make_environment(), trained, greedy)
    # each policy, against others that act at random
    results = {}
    for name in trained:
        others_random = {other: policy if other == name else None for other, policy in trained.items()}
        alone = together if others_random == trained else returns_of(others_random)
        mean, confidence = _mean_and_confidence(together[name])
        results[name] = {
            "mean_return": mean,
            "confidence": confidence,
            "against_random": float(alone[name].mean()),
            "random_return": float(at_random[name].mean()),
            "episodes": len(played.lengths),
            "unfinished": played.unfinished,
            **_metrics_of(config.policy[name].groups, played.metrics),
            **measures,
        }
    return results


def _metrics_of(groups: Sequence[str], metrics: Mapping[str, float]) -> dict[str, float]:
    """The metrics per env, and those of some groups."""
    parts = {name: name.split("/") for name in metrics}
    return {name: metrics[name] for name, (_, *group, _) in parts.items() if not group or group[0] in groups}


def _mean_and_confidence(returns: Tensor) -> tuple[float, float]:
    """Mean, and half-width of its 95% interval."""
    if len(returns) < 2:
        return float(returns.mean()), float("inf")
    return float(returns.mean()), NORMAL_95 * float(returns.std()) / math.sqrt(len(returns))
