"""Means over the latest episodes, in which each logged iteration counts as much as episodes ended in it.

All figures that show or judge a run by its episodes are computed here: curves, the last and the best return, scores of
sweeps, progress. A mean of few episodes is noise: the highest of many such means says little about the policy.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST_EPISODES = 100  # episodes of a mean, if as many have ended

Values = NDArray[np.float64]


def recent_means(values: ArrayLike, episodes: ArrayLike) -> Values:
    """The mean at each logged iteration over the fewest latest iterations in which ``FEWEST_EPISODES`` episodes ended.

    Args:
        values: (rows,) means over the episodes of each iteration; NaN where there is none.
        episodes: (rows,) how many episodes those are; NaN where it is unknown, which stands for ``FEWEST_EPISODES``.

    Returns:
        (rows,) float64; NaN where ``values`` has NaN, where no episode ended, and before ``FEWEST_EPISODES`` have
        ended. If fewer ended in all, the last iteration has the mean over all of them.
    """
    # iterations in which episodes ended
    of_rows = np.asarray(values, np.float64)
    weights = _weights(of_rows, episodes)
    means = np.full(len(of_rows), np.nan)
    (rows,) = np.nonzero(weights)
    if not len(rows):
        return means
    # first row of the window that ends at each
    counts, kept = weights[rows], of_rows[rows]
    ended = np.concatenate([[0.0], np.cumsum(counts)])
    first = np.searchsorted(ended, ended[1:] - FEWEST_EPISODES, side="right") - 1
    enough = ended[1:] >= FEWEST_EPISODES
    if not enough.any():
        means[rows[-1]] = _mean(kept, counts)
        return means
    # means of the windows
    ends = np.arange(1, len(rows) + 1)[enough]
    first = first[enough]
    sums = np.add.reduceat(np.append(kept * counts, 0.0), np.stack([first, ends], 1).ravel())[::2]
    alone = ends - first == 1  # its own mean, without rounding
    means[rows[enough]] = np.where(alone, kept[enough], sums / (ended[ends] - ended[first]))
    return means


def final_mean(steps: ArrayLike, values: ArrayLike, episodes: ArrayLike) -> float | None:
    """The mean over the episodes of the last tenth of the env steps, or of more until ``FEWEST_EPISODES`` have ended.

    Args:
        steps: (rows,) env steps, ascending.
        values: (rows,) as ``recent_means`` takes them.
        episodes: (rows,) likewise.

    Returns:
        None where no episode has ended.
    """
    at, of_rows = np.asarray(steps, np.float64), np.asarray(values, np.float64)
    weights = _weights(of_rows, episodes)
    (rows,) = np.nonzero(weights)
    if not len(rows):
        return None
    after = np.cumsum(weights[rows][::-1])[::-1]  # episodes from each row on
    wanted = (at[rows] >= 0.9 * at[rows[-1]]) | (after - weights[rows] < FEWEST_EPISODES)
    chosen = rows[wanted]
    return _mean(of_rows[chosen], weights[chosen])


def ended_episodes(values: ArrayLike, episodes: ArrayLike) -> float:
    """The number of episodes that the values are means of; arguments as ``recent_means``'s."""
    return float(_weights(np.asarray(values, np.float64), episodes).sum())


class RecentMean:
    """The mean over the latest ``FEWEST_EPISODES`` episodes of a training, while it runs.

    Attributes:
        value: over fewer episodes until ``FEWEST_EPISODES`` have ended; None before the first.
        first: the first mean over ``FEWEST_EPISODES`` episodes; until then ``value``.
        is_full: whether ``FEWEST_EPISODES`` episodes have ended.
    """

    def __init__(self) -> None:
        self.value: float | None = None
        self.first: float | None = None
        self.is_full = False
        self._rows: deque[tuple[float, float]] = deque()
        self._ended = 0.0

    def add(self, value: float, episodes: float | None) -> None:
        """Take in the mean of an iteration's episodes, and how many there are; None is unknown."""
        count = FEWEST_EPISODES if episodes is None else episodes
        if not count > 0 or not math.isfinite(value):
            return
        self._rows.append((value, count))
        self._ended += count
        while self._ended - self._rows[0][1] >= FEWEST_EPISODES:
            self._ended -= self._rows.popleft()[1]
        self.value = float(recent_means(*zip(*self._rows, strict=True))[-1])
        self.first = self.first if self.is_full else self.value
        self.is_full = self.is_full or self._ended >= FEWEST_EPISODES


def _weights(values: Values, episodes: ArrayLike) -> Values:
    """(rows,) episodes of each row that has a value."""
    counts = np.asarray(episodes, np.float64)
    counts = np.where(np.isfinite(counts), counts, float(FEWEST_EPISODES))
    return np.where(np.isfinite(values), np.maximum(counts, 0.0), 0.0)


def _mean(values: Sequence[float] | Values, counts: Sequence[float] | Values) -> float:
    """The weighted mean; equal weights round as a plain mean does."""
    weights = np.asarray(counts)
    equal = bool((weights == weights[0]).all())
    return math.fsum(values) / len(values) if equal else float(np.average(values, weights=weights))
