"""Data of a run folder: metrics, timing and machine beside the configuration."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpworld.config import SavedConfig, read_saved
from warpworld.errors import RunError
from warpworld.files import read_file, readable, reason
from warpworld.runs.differences import labels
from warpworld.runs.folder import RunFolder
from warpworld.runs.metrics import Damage, Metrics, Point, curve_of, mean_of_last_tenth, points_of, read_metrics


@dataclass(frozen=True, eq=False)
class RunData:
    """A run as it lies in its folder.

    Attributes:
        path: the folder.
        config: its configuration as it was saved.
        rows: a dict for each logged iteration, timing included.
        machine: what it ran on, by fact; of the last session if there were several. Empty if unknown.
        checkpoints: iterations that have one.
        label: what it is called among the runs that are shown with it; the folder's name where it is alone.
        damaged: a message for each file of metrics with damaged lines, which are left out.
    """

    path: Path
    config: SavedConfig
    rows: Sequence[dict[str, Any]]
    machine: dict[str, Any]
    checkpoints: Sequence[int]
    label: str
    damaged: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Name of the folder."""
        return readable(self.path.resolve().name)

    def points(self, key: str) -> list[Point]:
        """(env steps, value) of a metric, where it is a number."""
        return points_of(self.rows, key)

    def curve(self, key: str) -> list[Point]:
        """(env steps, value) of a metric for a chart, means of episodes over the latest ones; NaN where it breaks."""
        return curve_of(self.rows, key)

    def numbers(self, key: str) -> list[float]:
        """The numbers of a curve, without gaps."""
        return [y for _, y in self.curve(key) if not math.isnan(y)]

    def at_last(self, key: str) -> float | None:
        """The mean of a metric over the last tenth of the env steps, see ``mean_of_last_tenth``; None without one."""
        return mean_of_last_tenth(self.rows, key)

    def last(self, key: str) -> float | None:
        """The latest number of a metric, or None."""
        points = self.points(key)
        return points[-1][1] if points else None

    def metrics(self) -> list[str]:
        """Names of all metrics, in the order of their first appearance."""
        return list(dict.fromkeys(key for row in self.rows for key in row))


def read_run(run: RunFolder) -> RunData:
    """Read a run's folder; metrics, timing and machine may be missing, lines of metrics may be damaged.

    No code that the run names is imported.

    Raises:
        RunError: a file is there but cannot be read.
        ConfigError: ``config.yaml`` is no configuration of a run.
    """
    metrics, timing = (_read_if_there(path) for path in (run.metrics_path, run.timing_path))
    of_iteration = {_iteration(row): row for row in timing.rows}
    merged = [{**of_iteration.get(_iteration(row), {}), **row} for row in metrics.rows]
    damaged = [str(file.damage) for file in (metrics, timing) if file.damage.count]
    config = read_saved(run.config_path)
    machine, name = _read_machine(run.machine_path), readable(run.path.resolve().name)
    return RunData(run.path, config, merged, machine, run.checkpoints(), name, damaged)


def read_runs(runs: Sequence[RunFolder]) -> list[RunData]:
    """Read the folders of runs that are shown together; labels say what differs. Raises as ``read_run``."""
    data = [read_run(run) for run in runs]
    if len(data) == 1:
        return data
    found = labels([run.config.settings for run in data], [run.label for run in data])
    return [replace(run, label=label) for run, label in zip(data, found, strict=True)]


def _read_if_there(path: Path) -> Metrics:
    return read_metrics(path) if path.exists() else Metrics((), Damage(path))


def _iteration(row: Mapping[str, Any]) -> int | None:
    """Iteration of a line, if it is a whole number."""
    number = row.get("iteration")
    return number if isinstance(number, int) else None


def _read_machine(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"'{path}' cannot be read: {reason(error)}") from error
    session = found[-1] if isinstance(found, list) and found else found
    return session if isinstance(session, dict) else {}
