"""Means over the latest episodes, wherever a run's returns are shown or judged."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from warpworld.config import load_config
from warpworld.runs import Run
from warpworld.runs.metrics.episode_means import RecentMean, final_mean, recent_means
from warpworld.runs.metrics.points import curve_of, mean_of_last_tenth
from warpworld.runs.over_seeds import final_returns
from warpworld.runs.run_data import read_run
from warpworld.runs.summary import summarise

RETURN = "charts/agent/episodic_return"
# One short and lucky episode among many: (episodes that ended, mean return).
SPIKES = [(1, 2.38), (200, 0.14), (0, None), (50, 0.1), (50, 0.2), (1, 2.0), (120, 0.12), (1, -3.0)]


def rows(pairs: list[tuple[int, float | None]]) -> list[dict[str, float | None]]:
    """Lines of metrics, ten env steps each."""
    return [
        {"iteration": i, "env_steps": 10 * i, "charts/episodes": count, RETURN: value}
        for i, (count, value) in enumerate(pairs, 1)
    ]


def reference(values: list[float], episodes: list[float], place: int) -> float:
    """The mean over the fewest of the latest iterations that have 100 episodes, step by step."""
    count, total = 0.0, 0.0
    for value, number in zip(values[place::-1], episodes[place::-1], strict=True):
        count, total = count + number, total + number * value
        if count >= 100:
            return total / count
    return math.nan


@pytest.mark.parametrize("most", [3, 60, 300])
def test_means_are_those_of_the_definition(most: int) -> None:
    draws = np.random.default_rng(most)
    episodes, values = draws.integers(0, most, 400).tolist(), draws.normal(0, 1e6, 400).tolist()
    expected = [reference(values, episodes, i) if episodes[i] else math.nan for i in range(400)]
    assert recent_means(values, episodes) == pytest.approx(expected, rel=1e-9, nan_ok=True)
    running = RecentMean()
    for i, (value, count) in enumerate(zip(values, episodes, strict=True)):
        running.add(value, count)
        if running.is_full and count:
            assert running.value == pytest.approx(expected[i], rel=1e-9)
    assert running.first == pytest.approx(next(value for value in expected if value == value), rel=1e-9)


def test_an_explosion_leaves_later_means_as_they_are() -> None:
    assert recent_means([1e300, 0.25, 0.5], [100, 100, 100]).tolist() == [1e300, 0.25, 0.5]


def test_fewer_episodes_in_all_have_one_mean_at_the_last_of_them() -> None:
    found = curve_of(rows([(10, 4.0), (30, 8.0), (0, None)]), RETURN)
    assert found == [(20.0, 7.0)]
    running = RecentMean()
    for value, count in ((4.0, 10.0), (8.0, 30.0)):
        running.add(value, count)
    assert (running.value, running.first, running.is_full) == (7.0, 7.0, False)


def test_lines_of_older_runs_without_a_number_of_episodes_stand_for_themselves() -> None:
    lines = [{"env_steps": i, RETURN: float(i)} for i in (1, 2, 3)]
    assert curve_of(lines, RETURN) == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    assert mean_of_last_tenth(lines, RETURN) == 3.0


def test_the_mean_at_the_end_weighs_episodes_and_takes_enough_of_them() -> None:
    steps = [10.0, 50.0, 95.0, 100.0]
    assert final_mean(steps, [9.0, 5.0, 1.0, 3.0], [500, 500, 300, 100]) == pytest.approx(1.5)
    assert final_mean(steps, [9.0, 5.0, 1.0, 3.0], [500, 97, 2, 1]) == pytest.approx((5 * 97 + 2 + 3) / 100)
    assert final_mean(steps, [math.nan] * 4, [0] * 4) is None


def test_losses_are_means_of_lines() -> None:
    lines = [{"env_steps": 100 + i, "charts/episodes": 10**i, "losses/agent/x": float(i)} for i in range(3)]
    assert mean_of_last_tenth(lines, "losses/agent/x") == 1.0


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run whose returns have spikes."""
    made = Run.create(load_config("cartpole"), tmp_path)
    for row in rows(SPIKES):
        made.log(row)
    made.close()
    return made


def test_last_and_best_of_a_run_are_no_spikes(run: Run) -> None:
    found = summarise(run).returns["agent"]
    assert found.best == pytest.approx((50 * 0.1 + 50 * 0.2 + 2.0) / 101)
    assert found.last == pytest.approx((120 * 0.12 - 3.0) / 121)
    spoilt = run.metrics_path.read_text().replace('"iteration": 3', 'damaged, "iteration": 3')
    run.metrics_path.write_text(spoilt)  # lines and episodes are then paired in another way
    assert summarise(run).returns["agent"] == found


def test_curves_and_key_figures_of_a_run_are_no_spikes(run: Run) -> None:
    data = read_run(run)
    assert [round(y, 3) for _, y in data.curve(RETURN)] == [0.14, 0.132, 0.15, 0.168, 0.12, 0.094]
    assert final_returns([data], "agent") == [pytest.approx((120 * 0.12 - 3.0) / 121)]
