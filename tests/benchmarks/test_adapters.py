"""The table of adapters: every system that is installed makes its call, and its figures are of one step."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks import adapters
from benchmarks.rows import print_adapters

pytestmark = pytest.mark.cpu_backend


@pytest.mark.parametrize("system", adapters.CARTPOLE, ids=lambda system: system.name)
def test_every_system_steps(system: adapters.System) -> None:
    if importlib.util.find_spec(system.package) is None:
        pytest.skip(f"{system.package} is not installed")
    row = adapters.measured("cartpole", system, 3, seconds=0.001)
    assert (row.world, row.system, row.num_envs) == ("cartpole", system.name, 3)
    assert 0.0 < row.seconds_per_call < 1.0 and row.cpu_seconds_per_call >= 0.0  # a clock of a few milliseconds


@pytest.mark.long
def test_other_libraries_envs_are_beside_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    (_, _, bare), (_, _, wrapped), *_ = adapters.EXTERNAL
    rows = [adapters.measured("acrobot", system, 2, seconds=0.05) for system in (bare, wrapped)]
    print_adapters(rows)
    lines = [line for line in capsys.readouterr().out.splitlines() if "acrobot" in line]
    ratio = rows[1].cpu_seconds_per_call / rows[0].cpu_seconds_per_call
    assert "1.00" in lines[0] and f"{ratio:.2f}" in lines[1]
