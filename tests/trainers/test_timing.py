"""Timed iterations: which of them count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from warpworld.trainers.timing import timed_iterations


class Trained:
    """A trainer whose iteration i takes i seconds for the rollout and one second for the update."""

    iterations = 0

    def train(self, run: None, on_iteration: Callable[[dict[str, Any]], None], stop: Callable[[], bool]) -> None:
        while not stop():
            self.iterations += 1
            on_iteration({"perf/rollout_s": float(self.iterations), "perf/update_s": 1.0})


@pytest.mark.parametrize(
    ("seconds", "least", "warm_up", "rollouts"),
    [(0.0, 1, 0, [1.0]), (0.0, 3, 0, [1.0, 2.0, 3.0]), (6.0, 1, 2, [3.0, 4.0]), (0.0, 1, 1, [2.0])],
)
def test_iterations_count_after_warm_up_until_they_are_enough(
    seconds: float, least: int, warm_up: int, rollouts: list[float]
) -> None:
    times = timed_iterations(Trained(), seconds, least, warm_up)  # type: ignore[arg-type]
    assert times.rollouts == rollouts
    assert times.totals == [rollout + 1 for rollout in rollouts]
    assert times.updates == [1.0] * len(rollouts) and len(times.cpus) == len(rollouts)
