"""What the backend was meant to reach, beside what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Results = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """One of them.

    Attributes:
        label: what it is about.
        wanted: the limit.
        unit: of both.
        at_least: whether more is better.
        measured: reads the results; None where the figure is missing.
    """

    label: str
    wanted: float
    unit: str
    at_least: bool
    measured: Callable[[Results], float | None]

    def is_met(self, value: float) -> bool:
        """Whether ``value`` is good enough."""
        return value >= self.wanted if self.at_least else value <= self.wanted


def figure(results: Results, part: str, name: str) -> float | None:
    """A figure of a part."""
    return results["parts"].get(part, {}).get("figures", {}).get(name)


def row(results: Results, part: str, column: str, value: str = "env_steps_per_s") -> float | None:
    """A value of a part's table."""
    rows = results["parts"].get(part, {}).get("figures", {}).get("rows", [])
    return next((found[value] for found in rows if found.get("column") == column), None)


def ratio(results: Results, ours: str, theirs: str, column: str, own_column: str | None = None) -> float | None:
    """How many times a peer's env steps ours makes in the same time, in the column of that name or another one."""
    first, second = row(results, ours, own_column or column), row(results, theirs, column)
    return first / second if first and second else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _eyes(results: Results, world: str) -> float | None:
    rows = results["parts"].get("eyes", {}).get("figures", {}).get("rows", [])
    speeds = [
        found["agent_steps_per_s"] for found in rows if (found["world"], found["column"]) == (world, "simulation")
    ]
    return _times(speeds[0] if speeds else None, 1e-6)


def _largest_gap(results: Results) -> float | None:
    rows = results["parts"].get("profile", {}).get("figures", {}).get("rows", [])
    gaps = [gap for found in rows for gap in found["largest_gap_share"].values()]
    return max(gaps) * 100 if gaps else None


GRIDWORLD, CONTINUOUS = ("tag_gridworld", "warpdrive_gridworld"), ("tag_continuous", "warpdrive_continuous")

TARGETS = (
    Target("launch, our own host time", 0.5, "µs", False, lambda r: _times(figure(r, "launches", "own_seconds"), 1e6)),
    Target(
        "replay of 16 steps, host time",
        10.0,
        "µs",
        False,
        lambda r: _times(figure(r, "launches", "replay_seconds"), 1e6),
    ),
    Target(
        "tag_gridworld 2000 x 5, rollout",
        0.3,
        "G agent steps/s",
        True,
        lambda r: _times(row(r, "tag_gridworld", "inference", "agent_steps_per_s"), 1e-9),
    ),
    Target("... rollout beside WarpDrive's", 5.0, "times", True, lambda r: ratio(r, *GRIDWORLD, "inference")),
    Target("... training beside WarpDrive's", 5.0, "times", True, lambda r: ratio(r, *GRIDWORLD, "training")),
    Target(
        "tag_continuous 2000 x 1000, no policy",
        2.9,
        "M env steps/s",
        True,
        lambda r: _times(row(r, "tag_continuous_1000", "simulation"), 1e-6),
    ),
    Target(
        "tag_continuous 2000 x 110, training beside WarpDrive's",
        5.0,
        "times",
        True,
        lambda r: ratio(r, *CONTINUOUS, "training"),
    ),
    Target(
        "... training in bf16 beside WarpDrive's, which is float32",
        5.0,
        "times",
        True,
        lambda r: ratio(r, *CONTINUOUS, "training", "training, bf16"),
    ),
    Target(
        "cartpole 65,536, random actions",
        5.0,
        "G env steps/s",
        True,
        lambda r: _times(row(r, "cartpole", "simulation"), 1e-9),
    ),
    Target(
        "minatar_breakout 8,192, MinGRU 32 x 4, training",
        25.0,
        "M env steps/s",
        True,
        lambda r: _times(row(r, "breakout", "training"), 1e-6),
    ),
    Target("explorer, 256 rays", 20.0, "M agent steps/s", True, lambda r: _eyes(r, "explorer")),
    Target("... beside brute force", 10.0, "times", True, lambda r: figure(r, "eyes", "explorer_beside_brute_force")),
    Target("point_goal, 512 rays", 40.0, "M agent steps/s", True, lambda r: _eyes(r, "point_goal")),
    Target("... beside brute force", 10.0, "times", True, lambda r: figure(r, "eyes", "point_goal_beside_brute_force")),
    Target("deathmatch, 512 rays", 20.0, "M agent steps/s", True, lambda r: _eyes(r, "deathmatch")),
    Target("... beside brute force", 10.0, "times", True, lambda r: figure(r, "eyes", "deathmatch_beside_brute_force")),
    Target("largest gap of an iteration", 5.0, "% of it", False, _largest_gap),
)
