"""Numbers of tests that repeat one thing at many random moments."""

from __future__ import annotations

import random
from typing import Any

import pytest


def moments(numbers: range, kept: int) -> list[Any]:
    """Parameters of a test: ``make test-slow`` runs ``kept`` of them, ``make exhaustive`` the others.

    A number is the seed of what its test draws, a moment first. Those that are kept spread over the run: of each of
    ``kept`` equal parts of it, the first number whose moment lies there.
    """
    spread: dict[int, int] = {}
    for number in numbers:
        spread.setdefault(int(random.Random(number).random() * kept), number)
    assert len(spread) == kept, "no number's moment lies in some part of the run: give more numbers"
    chosen = set(spread.values())
    return [pytest.param(number, marks=() if number in chosen else pytest.mark.exhaustive) for number in numbers]
