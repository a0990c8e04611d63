"""Statistics of a few runs: interquartile means and bootstrap intervals, as in Agarwal et al. (2021).

"Deep Reinforcement Learning at the Edge of the Statistical Precipice", arXiv:2108.13264.
"""

from __future__ import annotations

from collections.abc import Callable

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
