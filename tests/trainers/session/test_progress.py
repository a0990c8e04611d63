"""The parts of the progress display: the time that is left, curves of text, losses and evaluations."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from warpworld.config import load_config
from warpworld.trainers.session.progress import TrainingProgress
from warpworld.trainers.session.remaining_time import MOST as MOST_MARKS
from warpworld.trainers.session.remaining_time import RemainingTime
from warpworld.trainers.session.sparkline import MOST, Sparkline

# --- time -------------------------------------------------------------------------------------------------------------


def estimates(seconds: list[float]) -> list[float]:
    """When the session is estimated to end, after each iteration of so many seconds; 10 env steps each."""
    remaining, now, found = RemainingTime(0.0, 0), 0.0, []
    for iteration, each in enumerate(seconds, start=1):
        now += each
        remaining.update(now, 10 * iteration)
        found.append(now + (remaining.left(now, 10 * len(seconds)) or 0.0))
    return found


def test_nothing_is_known_before_the_first_iteration() -> None:
    assert RemainingTime(0.0, 0).left(5.0, 100) is None


def test_the_first_iteration_gives_the_first_estimate() -> None:
    remaining = RemainingTime(5.0, 100)
    remaining.update(15.0, 120)
    assert remaining.left(15.0, 200) == 40.0


def test_a_slow_first_iteration_is_left_out() -> None:
    found = estimates([30.0] + [1.0] * 99)  # it compiled
    assert found[1:] == pytest.approx([129.0] * 99)


def test_an_off_policy_run_that_begins_to_learn() -> None:
    """From iteration 21 on an update follows each rollout: soon the estimate knows."""
    seconds = [0.1] * 20 + [1.0] * 180
    found = estimates(seconds)
    assert found[45:] == pytest.approx([sum(seconds)] * (200 - 45), rel=0.03)


def test_it_counts_down_between_iterations() -> None:
    remaining = RemainingTime(0.0, 0)
    for i in (1, 2, 3):
        remaining.update(10.0 * i, i)
    assert [remaining.left(now, 5) for now in (30.0, 34.0, 60.0)] == [20.0, 16.0, 0.0]


def test_a_long_run_stays_small_and_exact() -> None:
    remaining = RemainingTime(0.0, 0)
    for i in range(1, 20_001):
        remaining.update(2.0 * i, i)
    assert len(remaining._marks) <= MOST_MARKS
    assert remaining.left(40_000.0, 30_000) == pytest.approx(20_000.0)


def test_seconds_that_end_a_run_count_down() -> None:
    """600 seconds of training, of which an earlier session had 200; the env steps would take 10 minutes more."""
    out, now = io.StringIO(), [0.0]
    config = load_config("cartpole", ["stop_when.seconds=600", "total_env_steps=819200"])
    console = Console(file=out, width=200, color_system=None)
    with TrainingProgress(config, console, 0.0, clock=lambda: now[0]) as progress:
        for step in (1, 2):
            now[0] += 100.0
            progress.update({"env_steps": 8192 * step, "time": 200.0 + now[0]})
    first, second = out.getvalue().splitlines()
    assert first.startswith(" 50%") and "0:05:00 left" in first
    assert second.startswith(" 67%") and "0:03:20 left" in second


# --- curves -----------------------------------------------------------------------------------------------------------


def drawn(values: list[float], **how: int) -> str:
    line = Sparkline()
    for value in values:
        line.append(value)
    return line.drawn(**how)


def test_a_curve_in_a_line() -> None:
    assert drawn([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == "▁▂▃▄▅▆▇█"
    assert drawn([-3.0, 4.0], ascii_only=True) == "_@"
    assert drawn([2.0, 2.0, 2.0]) == "▁▁▁"
    assert drawn([1.0]) == drawn([]) == ""


def test_a_long_curve_is_drawn_in_equal_parts() -> None:
    assert drawn([float(i) for i in range(80)], width=8) == "▁▂▃▄▅▆▇█"
    long = Sparkline()
    for i in range(100_000):
        long.append(float(i))
    assert len(long._means) < MOST
    assert long.drawn(8) == "▁▂▃▄▅▆▇█"


# --- the display ------------------------------------------------------------------------------------------------------

METRICS = {"charts/agent/episodic_return": 20.0, "losses/agent/policy_loss": 0.5, "losses/agent/entropy": 0.69}


def shown(losses: bool, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, color_system=None)
    progress = TrainingProgress(load_config("cartpole"), console, 0.0, losses=losses)
    with progress:
        for step in (1, 2):
            found = {**METRICS, "charts/agent/episodic_return": 20.0 * step, "losses/agent/clipfrac": 0.1}
            progress.update({"env_steps": 8192 * step, **found, "eval/agent/score": 33.0 * step})
    return out.getvalue()


def test_returns_are_means_of_many_episodes() -> None:
    out = io.StringIO()
    progress = TrainingProgress(load_config("cartpole"), Console(file=out, width=120, color_system=None), 0.0)
    lines = ((1, 300.0, 0.0), (199, 20.0, 1.0), (1, 500.0, 1.0), (0, float("nan"), float("nan")))
    with progress:
        for step, (episodes, value, own) in enumerate(lines, 1):
            found = {"charts/episodes": episodes, "charts/agent/episodic_return": value, "env/won": own}
            progress.update({"env_steps": 8192 * step, **found})
    assert progress.first["agent"] == 20.0
    assert progress.last["agent"] == pytest.approx((199 * 20.0 + 500.0) / 200)
    assert progress.own == {"won": (1.0, 1.0)}
    assert out.getvalue().splitlines()[-1].endswith("mean return: agent 22.40; won 1.00")


def test_losses_and_entropy_on_request() -> None:
    last = shown(losses=True, terminal=False).splitlines()[-1]
    assert last.endswith("mean return: agent 40.00, agent evaluated 66.00; agent: policy loss 0.5; agent: entropy 0.69")
    assert "loss" not in shown(losses=False, terminal=False)
    text = shown(losses=True, terminal=True)
    assert "agent: entropy" in text
    assert "clipfrac" not in text


def test_a_terminal_shows_curve_and_evaluation() -> None:
    line = next(line for line in shown(losses=False, terminal=True).splitlines()[::-1] if "agent " in line)
    assert line.split() == ["agent", "40.00", "20.00", "66.00", "▁█"]
