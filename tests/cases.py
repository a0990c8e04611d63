"""Cases of parametrised tests, of which a push runs those that find what no other finds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

seldom = pytest.mark.exhaustive


def often(kept: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Return all cases; those that are not kept are marked for ``make exhaustive``.

    Args:
        kept: cases that have between them what the others have.
        cases: values of one parameter.

    Raises:
        ValueError: one of those to keep is not among the cases.
    """
    listed = list(cases)
    if missing := [case for case in kept if case not in listed]:
        raise ValueError(f"no such cases: {missing}")
    return [case if case in kept else pytest.param(case, marks=seldom) for case in listed]
