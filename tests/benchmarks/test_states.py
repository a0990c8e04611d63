"""The table of what states cost."""

from __future__ import annotations

import pytest

from benchmarks import states


@pytest.mark.long
def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(states, "WORLDS", ("cartpole",))
    states.main(["--envs", "6"])
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("cartpole, 6 envs of 94 bytes: an env step takes ")
    assert [row.split("  ")[2].strip() for row in rows] == [
        *("state()", "set_state(all)", "fork(0, all others)", "the same, reseed", "fork(one half, the other)"),
    ]
