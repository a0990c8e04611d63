"""`python -m benchmarks.solving`: commands are followed to 475 and to their end."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.solving import Solved, print_rows, solved

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
def test_a_command_that_does_not_get_there_is_followed_to_its_end(tmp_path: Path) -> None:
    config = tmp_path / "short.yaml"
    config.write_text(
        "name: cartpole\ntrainer: {num_envs: 4, num_steps: 16, total_env_steps: 128}\n"
        "policy: {agent: {algorithm: ppo, num_minibatches: 1}}\n"
    )
    found = solved(str(config), 3)
    assert found.seed == 3
    assert math.isnan(found.env_steps) and math.isnan(found.seconds) and math.isnan(found.cpu_seconds)
    assert found.ended > 0 and found.ended_cpu > 0


def test_a_median_counts_those_that_did_not_get_there_as_last(capsys: pytest.CaptureFixture[str]) -> None:
    nan = math.nan
    rows = [
        Solved(1, 1000, 1.5, 1.0, 2.0, 1.5),
        Solved(2, nan, nan, nan, 3.0, 2.5),
        Solved(3, 2000, 2.5, 2.0, 4.0, 3.5),
    ]
    print_rows("cartpole_fast", rows)
    printed = capsys.readouterr().out
    assert "cartpole_fast: 2 of 3 solved" in printed
    assert printed.splitlines()[-1].split() == ["median", "2,000", "2.50", "2.00", "3.00", "2.50"]
