"""The table of Atari's speeds: its rows, for systems that are installed."""

from __future__ import annotations

import pytest

from benchmarks import atari

pytestmark = [pytest.mark.cpu_backend, pytest.mark.usefixtures("optimised")]


@pytest.mark.heavy
@pytest.mark.long
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ale_py")
    atari.main(["--envs", "2", "--seconds", "0.01"])
    first, *rows, last = capsys.readouterr().out.splitlines()
    assert first == "pong, 2 games, 1 thread"
    assert [row.split("  ")[0] for row in rows][:2] == ["warpworld", "ALE's vector environment"]
    assert all("env steps/s" in row and "of ours; starts in" in row for row in rows)
    assert last.startswith("a copy of all states takes")
