"""The table of exported policies: every system acts for the batch that its row is of."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from benchmarks import exported
from benchmarks.adapters import measured
from benchmarks.rows import print_exported

pytestmark = [pytest.mark.cpu_backend, pytest.mark.slow]


def first_of(given: Any) -> Any:
    """The first of what a call gives: actions or outputs."""
    if isinstance(given, dict):
        return next(iter(given.values()))
    return given[0] if isinstance(given, tuple) else given


@pytest.mark.parametrize("name", exported.POLICIES)
def test_every_system_acts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for system in exported.systems(*exported.POLICIES[name]):
        if importlib.util.find_spec(system.package) is not None:
            assert len(first_of(system.make(3)())) == 3
            rows.append(measured(name, system, 3, seconds=0.001))
    assert len(rows) >= 3
    print_exported(rows)
    assert capsys.readouterr().out.count(name) == len(rows)
