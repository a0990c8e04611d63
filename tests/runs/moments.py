"""Numbers of tests that repeat one thing at many random moments."""

from __future__ import annotations

from typing import Any

import pytest


def moments(numbers: range, kept: int) -> list[Any]:
    """Parameters of a test: ``make test-slow`` runs the first ``kept`` of them, ``make exhaustive`` the others."""
    first = [pytest.param(number) for number in numbers[:kept]]
    return first + [pytest.param(number, marks=pytest.mark.exhaustive) for number in numbers[kept:]]
