"""Statistics of a few runs: interquartile means and bootstrap intervals, as in Agarwal et al. (2021).

"Deep Reinforcement Learning at the Edge of the Statistical Precipice", arXiv:2108.13264.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Statistic = Callable[[Values], Values]

LEVEL = 0.95
RESAMPLES = 2000
AT_ONCE = 64  # entries whose draws lie in memory together


def mean(values: Values) -> Values:
    """The mean over the last axis."""
    return np.asarray(values.mean(axis=-1))


def interquartile_mean(values: Values) -> Values:
    """The mean of the middle half over the last axis: a quarter, rounded down, is left out at each end.

    It is NaN where a value is.
    """
    cut = values.shape[-1] // 4
    middle = np.sort(values, axis=-1)[..., cut : values.shape[-1] - cut].mean(axis=-1)
    return np.where(np.isnan(values).any(axis=-1), np.nan, middle)


def bootstrap_interval(values: Values, statistic: Statistic, seed: int = 0) -> tuple[Values, Values]:
    """The percentile interval of a statistic over runs that are drawn again with replacement.

    Args:
        values: [..., runs]; the same runs are drawn for each entry of the axes before.
        statistic: of the last axis.
        seed: of the draws.

    Returns:
        Lower and upper end, each [...]: ``LEVEL`` of ``RESAMPLES`` draws lie between them; NaN where a value is.
    """
    runs = values.shape[-1]
    drawn = np.random.default_rng(seed).integers(runs, size=(RESAMPLES, runs))
    outside = 100 * (1 - LEVEL) / 2
    entries = values.reshape(-1, runs)
    found = [
        np.percentile(statistic(entries[i : i + AT_ONCE][:, drawn]), [outside, 100 - outside], axis=-1)
        for i in range(0, len(entries), AT_ONCE)
    ]
    ends = np.where(np.isnan(entries).any(axis=-1), np.nan, np.concatenate(found, axis=-1))
    low, high = ends.reshape(2, *values.shape[:-1])
    return low, high


def stratified_interval(tasks: Sequence[Values], seed: int = 0) -> tuple[float, float, float]:
    """The interquartile mean over tasks and runs, and its interval, for which runs are drawn again within each task.

    Args:
        tasks: for each task its runs, [runs] of normalised scores; a task with more runs has more weight.
        seed: of the draws.

    Returns:
        The interquartile mean of all runs, and the lower and upper end of its interval of ``LEVEL``.
    """
    generator = np.random.default_rng(seed)
    drawn = np.concatenate([_resampled(runs, generator) for runs in tasks], axis=-1)
    return float(interquartile_mean(np.concatenate(tasks))), *_ends(interquartile_mean(drawn))


def probability_of_improvement(
    ours: Sequence[Values], theirs: Sequence[Values], seed: int = 0
) -> tuple[float, float, float]:
    """The probability that a run of one set scores more than a run of another on the same task, mean over tasks.

    Args:
        ours: for each task its runs, [runs].
        theirs: of the same tasks, in the same order; their numbers of runs may differ.
        seed: of the draws.

    Returns:
        The probability, of which a tie counts half, and the lower and upper end of its interval of ``LEVEL``, for which
        runs are drawn again within each task and set.
    """
    generator = np.random.default_rng(seed)
    pairs = list(zip(ours, theirs, strict=True))
    found = np.mean([_beaten(one[None], other[None])[0] for one, other in pairs])
    drawn = [_beaten(_resampled(one, generator), _resampled(other, generator)) for one, other in pairs]
    return float(found), *_ends(np.mean(drawn, axis=0))


def _resampled(runs: Values, generator: np.random.Generator) -> Values:
    """[RESAMPLES, runs]: the runs, drawn again with replacement."""
    return runs[generator.integers(len(runs), size=(RESAMPLES, len(runs)))]


def _beaten(ours: Values, theirs: Values) -> Values:
    """[draws]: the share of all pairs of [draws, runs] and [draws, runs] in which the first is greater."""
    ahead = np.sign(ours[:, :, None] - theirs[:, None, :])
    return np.asarray((0.5 + 0.5 * ahead).mean(axis=(1, 2)))


def _ends(drawn: Values) -> tuple[float, float]:
    """Lower and upper end of what lies between them in ``LEVEL`` of the draws."""
    outside = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(drawn, [outside, 100 - outside])
    return float(low), float(high)
