"""What a run folder tells of its run: metrics, timing and machine beside the configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.files import read_file, readable, reason
from warpworld.report.metrics import Point, points_of, read_metrics
from warpworld.runs import Run


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
        return readable(self.path.resolve().name)

    def points(self, key: str) -> list[Point]:
        """(env steps, value) of a metric, where it is a number."""
        return points_of(self.rows, key)

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
    rows = read_metrics(run.metrics_path) if run.metrics_path.exists() else []
    timing_path = run.path / "timing.jsonl"
    timing = read_metrics(timing_path) if timing_path.exists() else []
    of_iteration = {row.get("iteration"): row for row in timing}
    merged = [{**of_iteration.get(row.get("iteration"), {}), **row} for row in rows]
    return RunData(run.path, run.config, merged, _read_machine(run.path / "machine.json"), run.checkpoints())


def _read_machine(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"'{path}' cannot be read: {reason(error)}") from error
    session = found[-1] if isinstance(found, list) and found else found
    return session if isinstance(session, dict) else {}
