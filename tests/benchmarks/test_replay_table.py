"""The table of replays: every system that is installed does its work. Speed itself is not tested."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks import replay
from benchmarks.rows import print_replay

pytestmark = pytest.mark.cpu_backend


@pytest.mark.parametrize("system", replay.SYSTEMS, ids=lambda system: system.name)
def test_every_system_draws_and_inserts(system: replay.System) -> None:
    if importlib.util.find_spec(system.package) is None:
        pytest.skip(f"{system.package} is not installed")
    calls = system.make(8 * replay.ROW)
    for _ in range(3):
        calls.insert()
        calls.cycle()


def test_rows_are_multiples_of_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    rows = replay.measured("sum", 10, {"one": lambda: sum(range(100)), "two": lambda: sum(range(20_000))}, 0.01)
    print_replay(rows)
    first, second = (line for line in capsys.readouterr().out.splitlines() if "sum" in line)
    assert "1.00" in first and f"{rows[0].cpu_seconds_per_call / rows[1].cpu_seconds_per_call:.2f}" in second
