"""What a run folder tells of its run: metrics, timing and machine beside the configuration."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.report.plots import read_metrics
from warpworld.runs import Run

Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class RunData:
    """A run as it lies in its folder.

    Attributes:
        path: the folder.
        config: its configuration.
        rows: a dict for each logged iteration, timing included.
        machine: what it ran on, by fact; of the last session if there were several. Empty if unknown.
        checkpoints: iterations that have one.
    """

    path: Path
    config: RunConfig
    rows: Sequence[dict[str, Any]]
    machine: dict[str, Any]
    checkpoints: Sequence[int]

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.path.resolve().name

    def points(self, key: str) -> list[Point]:
        """(env steps, value) of a metric, where it is a number."""
        pairs = ((row.get("env_steps"), row.get(key)) for row in self.rows)
        return [(x, y) for x, y in pairs if _is_number(x) and _is_number(y)]

    def last(self, key: str) -> float | None:
        """The latest number of a metric, or None."""
        points = self.points(key)
        return points[-1][1] if points else None

    def metrics(self) -> list[str]:
        """Names of all metrics, in the order of their first appearance."""
        return list(dict.fromkeys(key for row in self.rows for key in row))


def read_run(run: Run) -> RunData:
    """Read a run's folder; metrics, timing and machine may be missing.

    Raises:
        RunError: a file is there but cannot be read.
    """
    rows = read_metrics(run.metrics_path) if run.metrics_path.is_file() else []
    timing_path = run.path / "timing.jsonl"
    timing = read_metrics(timing_path) if timing_path.is_file() else []
    of_iteration = {row.get("iteration"): row for row in timing}
    merged = [{**of_iteration.get(row.get("iteration"), {}), **row} for row in rows]
    return RunData(run.path, run.config, merged, _read_machine(run.path / "machine.json"), run.checkpoints())


def _read_machine(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"'{path}' cannot be read: {getattr(error, 'strerror', None) or error}") from error
    session = found[-1] if isinstance(found, list) and found else found
    return session if isinstance(session, dict) else {}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
