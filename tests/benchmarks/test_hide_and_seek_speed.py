"""The table of hide and seek's speed."""

from __future__ import annotations

import pytest

from benchmarks import hide_and_seek
from benchmarks.worlds import DRAWS


@pytest.mark.heavy
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    hide_and_seek.main(["--envs", "4", "--seconds", "0.001"])
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.split() == ["on", "one", "core", "agents", "env", "steps/s", "agent", "steps/s"]
    games = len(hide_and_seek.GAMES)
    for row in rows[: games + 2]:
        agents, env_steps, agent_steps = (float(word.replace(",", "")) for word in row.split()[-3:])
        assert agent_steps == pytest.approx(agents * env_steps, rel=0.01)
    assert rows[games + 1].split()[-2:] == ["437,500", "4,375,000"] and rows[-1].startswith("HASE: ")


def test_the_best_window_counts() -> None:
    class Fake(hide_and_seek.Stepped):
        def __init__(self) -> None:
            self.num_envs, self.best = 10, float("inf")

        def steps(self) -> None:
            pass

    stepped, times = Fake(), iter([0.0, 1.0, 1.0, 5.0, 7.0, 7.0])
    stepped.window(1.0, lambda: next(times))
    stepped.window(1.0, lambda: next(times))
    assert stepped.best == pytest.approx(1.0 / (DRAWS * 10))
