"""What a few runs say about all runs: interquartile means and bootstrap intervals, as in Agarwal et al. (2021).

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


def mean(values: Values) -> Values:
    """The mean over the last axis."""
    return np.asarray(values.mean(axis=-1))


def interquartile_mean(values: Values) -> Values:
    """The mean of the middle half over the last axis: a quarter, rounded down, is left out at each end."""
    cut = values.shape[-1] // 4
    return np.asarray(np.sort(values, axis=-1)[..., cut : values.shape[-1] - cut].mean(axis=-1))


def bootstrap_interval(values: Values, statistic: Statistic, seed: int = 0) -> tuple[Values, Values]:
    """The percentile interval of a statistic over runs that are drawn again with replacement.

    Args:
        values: [..., runs]; the same runs are drawn for each entry of the axes before.
        statistic: of the last axis.
        seed: of the draws.

    Returns:
        Lower and upper end, each [...]: ``LEVEL`` of ``RESAMPLES`` draws lie between them.
    """
    runs = values.shape[-1]
    drawn = np.random.default_rng(seed).integers(runs, size=(RESAMPLES, runs))
    outside = 100 * (1 - LEVEL) / 2
    ends = [np.percentile(statistic(entry[drawn]), [outside, 100 - outside]) for entry in values.reshape(-1, runs)]
    low, high = np.array(ends).reshape(*values.shape[:-1], 2).transpose(-1, *range(values.ndim - 1))
    return low, high
