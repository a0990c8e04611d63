"""Interquartile means and bootstrap intervals, against all draws in float64 and numbers of scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from warpworld.runs.metrics.intervals import (
    bootstrap_interval,
    interquartile_mean,
    mean,
    probability_of_improvement,
    stratified_interval,
)
from warpworld.runs.over_seeds import statistics_of

RETURNS = np.array([110.5, 140.25, 115.75, 98.0, 203.5, 121.0, 87.25, 131.5, 117.0, 126.75])


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, 110.5),
        (2, 125.375),
        (3, 122.16666666666667),
        (4, 113.125),
        (5, 122.16666666666667),
        (10, 120.41666666666667),
    ],
)
def test_the_interquartile_mean(count: int, expected: float) -> None:
    """The numbers are of scipy.stats.trim_mean(returns, 0.25), which is what rliable calls the interquartile mean."""
    assert float(interquartile_mean(RETURNS[:count])) == pytest.approx(expected, rel=1e-12)


def test_an_outlier_does_not_move_it() -> None:
    far = RETURNS.copy()
    far[4] = 1e6
    assert interquartile_mean(far) == interquartile_mean(RETURNS)


@pytest.mark.parametrize("statistic", [mean, interquartile_mean])
def test_the_interval_is_that_of_all_draws(statistic: object) -> None:
    """Of four runs there are 256 draws with replacement: the quantiles of all of them are the bootstrap's limit."""
    values = RETURNS[:4]
    every = np.array([[values[i] for i in drawn] for drawn in itertools.product(range(4), repeat=4)])
    ends = np.percentile(statistic(every), [2.5, 97.5])  # type: ignore[operator]
    assert np.allclose(bootstrap_interval(values, statistic), ends, atol=1.5)  # type: ignore[arg-type]


def test_the_interval_is_near_that_of_scipy() -> None:
    """The numbers are of scipy.stats.bootstrap by percentiles of 50,000 resamples, as rliable takes them."""
    assert np.allclose(bootstrap_interval(RETURNS, interquartile_mean), [107.375, 140.2917], atol=1.0)
    assert np.allclose(bootstrap_interval(RETURNS, mean), [109.25, 145.6], atol=1.0)


def test_each_entry_has_the_interval_that_it_has_alone() -> None:
    low, high = bootstrap_interval(np.stack([RETURNS, 2 * RETURNS]), mean)
    alone = bootstrap_interval(RETURNS, mean)
    assert np.allclose(low, [alone[0], 2 * alone[0]]) and np.allclose(high, [alone[1], 2 * alone[1]])


def test_intervals_are_given_from_three_runs_on() -> None:
    assert statistics_of([None, None]) == {"mean": "-", "interquartile mean": "-"}
    assert statistics_of([1.0, None, 3.0]) == {"mean": "2.00", "interquartile mean": "2.00"}
    assert statistics_of([5.0, 5.0, 5.0])["mean"] == "5.00 [5.00, 5.00]"


def test_nothing_is_known_where_a_value_is_not() -> None:
    values = np.stack([RETURNS, np.where(RETURNS == 203.5, np.nan, RETURNS)])
    assert np.isnan(interquartile_mean(values)).tolist() == [False, True]
    assert np.isnan(bootstrap_interval(values, interquartile_mean)).tolist() == [[False, True], [False, True]]


def test_runs_are_drawn_again_within_each_task() -> None:
    """With equal runs in a task nothing can vary; resampling over tasks would."""
    middle, low, high = stratified_interval([np.full(3, score) for score in (0.0, 0.2, 0.6, 1.0)])
    assert middle == low == high == pytest.approx((0.2 * 3 + 0.6 * 3) / 6)


def test_the_stratified_interval_is_that_of_all_draws() -> None:
    tasks = [np.array([0.0, 0.3, 1.0]), np.array([0.1, 0.8])]
    every = [
        [[runs[i] for i in drawn] for drawn in itertools.product(range(len(runs)), repeat=len(runs))] for runs in tasks
    ]
    pooled = np.array([[*one, *other] for one, other in itertools.product(*every)])
    middle, *ends = stratified_interval(tasks)
    assert middle == interquartile_mean(np.concatenate(tasks))
    assert np.allclose(ends, np.percentile(interquartile_mean(pooled), [2.5, 97.5]), atol=0.04)


def test_the_probability_of_improvement() -> None:
    """Agarwal et al. (2021), section 4.3: Mann and Whitney's statistic, in which a tie is a half; mean over tasks."""
    ours, theirs = [np.array([3.0, 1.0, 2.0]), np.array([5.0])], [np.array([2.0, 2.5]), np.array([4.0, 4.0, 4.0])]
    pairs = [[1.0, 1.0], [0.0, 0.0], [0.5, 0.0]]
    middle, low, high = probability_of_improvement(ours, theirs)
    assert middle == pytest.approx((np.mean(pairs) + 1.0) / 2) and low < middle < high
    assert probability_of_improvement(theirs, ours)[0] == pytest.approx(1.0 - middle)
    assert probability_of_improvement(ours, ours)[0] == 0.5
