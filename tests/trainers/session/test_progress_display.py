"""What the progress display prints: lines where there is no terminal, and a table on one."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.chase import TEXT
from warpworld.config import RunConfig, load_config
from warpworld.text import duration
from warpworld.trainers.session.progress import TrainingProgress


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a config in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(TEXT)


def follow(config: RunConfig, console: Console, seconds: float, interval: float = 5.0) -> TrainingProgress:
    """A progress that has seen ten iterations, ``seconds`` apart."""
    now = [0.0]
    progress = TrainingProgress(config, console, interval, clock=lambda: now[0])
    with progress:
        for iteration in range(1, 11):
            now[0] += seconds
            value = float("nan") if iteration < 3 else float(iteration)
            progress.update({"env_steps": iteration * 160, "charts/evader/episodic_return": value})
    return progress


def test_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    progress = follow(
        load_config("run.yaml", ["trainer.total_env_steps=1600"]),
        Console(file=out, width=40),
        seconds=2.0,
        interval=6.0,
    )
    assert out.getvalue().splitlines() == [
        " 30%  480 env steps  -  0:00:14 left  mean return: chaser -, evader 3.00",
        " 60%  960 env steps  -  0:00:08 left  mean return: chaser -, evader 6.00",
        " 90%  1,440 env steps  -  0:00:02 left  mean return: chaser -, evader 9.00",
        "100%  1,600 env steps  -  0:00:00 left  mean return: chaser -, evader 10.00",
    ]
    assert (progress.first, progress.last) == ({"chaser": None, "evader": 3.0}, {"chaser": None, "evader": 10.0})


def test_metrics_of_the_environments_own_stand_behind_returns() -> None:
    out, terminal = io.StringIO(), io.StringIO()
    for console in (Console(file=out), Console(file=terminal, force_terminal=True, width=80, color_system=None)):
        progress = TrainingProgress(load_config("run.yaml"), console, 0.0)
        with progress:
            for tags in (float("nan"), 0.00321, float("nan"), 4.5):
                progress.update({"env_steps": 160, "env/chaser/tags_made": tags, "env/left": 1.0})
    assert [line.split("mean return: ")[1] for line in out.getvalue().splitlines()] == [
        "chaser -, evader -; left 1.00",
        "chaser -, evader -; left 1.00; chaser: tags made 0.00321",
        "chaser -, evader -; left 1.00; chaser: tags made 0.00321",
        "chaser -, evader -; left 1.00; chaser: tags made 4.50",
    ]
    assert re.search(r"metric +mean +at first", terminal.getvalue())
    assert re.search(r"chaser: tags made +4\.50 +0\.00321", terminal.getvalue())


def test_a_resumed_run_estimates_from_its_own_session() -> None:
    out, now = io.StringIO(), [0.0]
    config = load_config("run.yaml", ["trainer.total_env_steps=1600"])
    progress = TrainingProgress(config, Console(file=out), 0.0, clock=lambda: now[0], env_steps=800)
    with progress:
        now[0] = 10.0
        progress.update({"env_steps": 960, "agent_steps": 960 * 4, "perf/env_steps_per_s": 16.0})
    assert out.getvalue().startswith(" 60%  960 env steps  16 env steps/s, 64 agent steps/s  0:00:40 left")
    assert progress.session == (160, 640, 10.0)


def test_a_resumed_run_says_when_its_first_returns_are_of() -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=80, color_system=None)
    with TrainingProgress(load_config("run.yaml"), console, 0.0, env_steps=160) as progress:
        progress.update({"env_steps": 320, "env/left": 1.0, "charts/chaser/episodic_return": 2.0})
    assert re.search(r"policy +mean return +when resumed", terminal.getvalue())
    assert re.search(r"metric +mean +when resumed", terminal.getvalue())
    assert "at first" not in terminal.getvalue()


def test_between_two_timed_iterations_the_session_gives_the_speed() -> None:
    out, now = io.StringIO(), [0.0]
    config = load_config("run.yaml", ["trainer.total_env_steps=1600"])
    progress = TrainingProgress(config, Console(file=out), 0.0, clock=lambda: now[0])
    timed = {"perf/env_steps_per_s": 99.0, "perf/rollout_s": 1.5, "perf/update_s": 0.5}
    with progress:
        for iteration, metrics in enumerate(({}, {}, timed), start=1):
            now[0] += 2.0
            progress.update({"env_steps": iteration * 160, "agent_steps": iteration * 640, **metrics})
    speeds = [line.split("  ")[2] for line in out.getvalue().splitlines()]
    assert speeds == ["80 env steps/s, 320 agent steps/s"] * 2 + ["99 env steps/s, 396 agent steps/s"]
    assert (progress.iterations, progress.timed) == (3, 1)
    assert (progress.rollout_seconds, progress.update_seconds) == (1.5, 0.5)


def test_display_on_a_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    follow(load_config("run.yaml", ["trainer.total_env_steps=1600"]), console, seconds=1.0)
    text = out.getvalue()
    assert "1,600 of 1,600 env steps" in text
    assert "0:00:10 elapsed, 0:00:00 left" in text
    assert "evader" in text
    assert "10.00" in text


def test_duration() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.6, 3725)] == ["0:00:00", "0:01:00", "1:02:05"]
