"""Figures of measurements taken in turn: medians, and ratios of neighbours."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Middle:
    """Median and range of some numbers.

    Attributes:
        median: of them.
        least: of them.
        most: of them.
    """

    median: float
    least: float
    most: float

    @staticmethod
    def of(numbers: Sequence[float]) -> Middle:
        """Summarise at least one number."""
        return Middle(statistics.median(numbers), min(numbers), max(numbers))


def ratios(first: Sequence[float], other: Sequence[float]) -> Middle:
    """Ratios of speed of the first side to the other.

    The two times of a round are compared: what disturbs the machine for longer than a round disturbs both.

    Args:
        first: seconds of a step in each round.
        other: the same of the other side.
    """
    return Middle.of([theirs / own for own, theirs in zip(first, other, strict=True)])
