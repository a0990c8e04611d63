"""Figures of measurements that were taken in turn, by hand."""

from __future__ import annotations

import pytest

from warpworld.cli.bench.rounds import Middle, ratios


def test_a_median_and_its_ends() -> None:
    assert Middle.of([3.0, 1.0, 2.0]) == Middle(2.0, 1.0, 3.0)


def test_ratios_are_of_neighbours_in_time() -> None:
    found = ratios([1.0, 2.0, 4.0], [2.0, 4.0, 8.0])  # the machine became slower, for both alike
    assert found == Middle(2.0, 2.0, 2.0)
    assert ratios([1.0, 1.0], [0.5, 1.5]) == Middle(pytest.approx(1.0), 0.5, 1.5)  # type: ignore[arg-type]
