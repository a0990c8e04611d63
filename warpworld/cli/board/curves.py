"""The curves of a run, read as it grows: of a file that was read before only what is new is parsed."""

from __future__ import annotations

import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.errors import WarpworldError
from warpworld.files import check_file, reason
from warpworld.runs import EPISODES, Damage, RunFolder, good_rows, of_episodes, recent_means, whole_lines

MOST_RUNS = 32  # whose numbers are kept
MOST_METRICS = 500  # of a run; what a hostile file names beyond is left out
MOST_POINTS = 400  # of a curve; longer ones show means of neighbours


GAP = np.inf  # in a column: the line has an entry that is no number


class Table:
    """The numbers of a file with a JSON object a line, as columns; a line that lacks a number has NaN or ``GAP``.

    Attributes:
        columns: by name, as many numbers as there are lines.
        damage: lines that are no JSON object.

    Args:
        path: the file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._restart()

    def _restart(self) -> None:
        self.columns: dict[str, array[float]] = {}
        self.damage = Damage(self.path)
        self._rows, self._lines, self._offset, self._inode = 0, 0, 0, -1

    def refresh(self) -> None:
        """Parse the lines that are new; a last line that is still being written waits for its end.

        Raises:
            OSError: the file cannot be read.
        """
        if not self.path.exists():
            return self._restart()
        # whole lines behind those that are parsed
        check_file(self.path)
        with self.path.open("rb") as file:
            inode = self.path.stat().st_ino
            if inode != self._inode or file.seek(0, 2) < self._offset:  # a run that was resumed may have cut its file
                self._restart()
            self._inode = inode
            file.seek(self._offset)
            new = whole_lines(file.read())
        # their values, and where the next refresh begins
        for row in good_rows(new, self.damage, self._lines):
            self._take(row)
        self._offset += len(new)
        self._lines += new.count(b"\n")

    def _take(self, row: Mapping[str, Any]) -> None:
        for name, value in row.items():
            column = self.columns.get(name)
            if column is None:
                if not _is_number(value) or len(self.columns) >= MOST_METRICS:
                    continue
                column = self.columns[name] = array("d", [np.nan]) * self._rows
            column.append(_as_float(value))
        self._rows += 1
        for column in self.columns.values():
            if len(column) < self._rows:
                column.append(np.nan)

    def column(self, name: str) -> np.ndarray:
        """(lines,) float64; NaN throughout where there is no such number."""
        found = self.columns.get(name)
        return np.full(self._rows, np.nan) if found is None else np.array(found)


class Curves:
    """Curves of the runs that pages show; the ones that were asked for last are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[Table, Table]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, run: RunFolder, wanted: list[str]) -> dict[str, Any]:
        """Data of a run's curves for a page.

        Args:
            run: which.
            wanted: names of metrics.

        Returns:
            metrics, the names of all that there are; damaged, messages about lines that are left out; and curves, by
            name the lists steps, seconds (of training, null where unknown) and values (null where the line breaks): at
            most ``MOST_POINTS`` means of neighbours.

        Raises:
            OSError: a file cannot be read.
        """
        with self._lock:
            metrics, timing = self._tables(run)
            metrics.refresh()
            timing.refresh()
            names = list(dict.fromkeys([*metrics.columns, *timing.columns]))
            curves = {name: _curve(metrics, timing, name) for name in wanted if name in names}
            damaged = [str(table.damage) for table in (metrics, timing) if table.damage.count]
            return {"metrics": names, "damaged": damaged, "curves": curves}

    def of_runs(self, runs: Mapping[str, RunFolder], wanted: list[str]) -> dict[str, dict[str, Any]]:
        """Data of several runs' curves, by their names; of a run that cannot be read, the problem."""
        found: dict[str, dict[str, Any]] = {}
        for name, run in runs.items():
            try:
                found[name] = self.of(run, wanted)
            except (WarpworldError, OSError) as error:
                found[name] = {"problem": reason(error) if isinstance(error, OSError) else str(error)}
        return found

    def _tables(self, run: RunFolder) -> tuple[Table, Table]:
        """The run's metrics and timing, which become the last to be forgotten."""
        if run.path not in self._kept:
            self._kept[run.path] = Table(run.metrics_path), Table(run.timing_path)
        self._kept.move_to_end(run.path)
        while len(self._kept) > MOST_RUNS:
            self._kept.popitem(last=False)
        return self._kept[run.path]


def _curve(metrics: Table, timing: Table, name: str) -> dict[str, list[float | None]]:
    table = metrics if name in metrics.columns else timing
    values, steps = table.column(name), table.column("env_steps")
    measured = ~np.isnan(values) & np.isfinite(steps)
    if of_episodes(name):
        measured &= table.column(EPISODES) != 0
        recent = recent_means(values, table.column(EPISODES))
        measured &= np.isinf(values) | np.isfinite(recent)
        values = recent
    seconds = _seconds(timing, table.column("iteration"))
    means = [_means(column[measured]) for column in (steps, seconds, values)]
    return dict(zip(("steps", "seconds", "values"), (_listed(column) for column in means), strict=True))


def _seconds(timing: Table, iterations: np.ndarray) -> np.ndarray:
    """Seconds of training at each of the iterations; NaN where the timing has none."""
    known, seconds = timing.column("iteration"), timing.column("time")
    kept = np.isfinite(known) & np.isfinite(seconds)
    if not kept.any():
        return np.full(len(iterations), np.nan)
    order = np.argsort(known[kept], kind="stable")
    known, seconds = known[kept][order], seconds[kept][order]
    place = np.clip(np.searchsorted(known, iterations), 0, len(known) - 1)
    return np.where(known[place] == iterations, seconds[place], np.nan)


def _means(values: np.ndarray) -> np.ndarray:
    """At most ``MOST_POINTS`` means of equally many neighbours, the last of the rest; NaN where none is a number."""
    values = np.where(np.isfinite(values), values, np.nan)
    if len(values) <= MOST_POINTS:
        return values
    size = -(-len(values) // MOST_POINTS)
    starts = np.arange(0, len(values), size)
    known = np.add.reduceat(np.isfinite(values).astype(np.float64), starts)
    return np.add.reduceat(np.nan_to_num(values), starts) / np.where(known, known, np.nan)


def _listed(values: np.ndarray) -> list[float | None]:
    return [float(f"{value:.6g}") if value == value else None for value in values.tolist()]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    """``GAP`` for what is no number, or none that a float holds."""
    try:
        return float(value) if _is_number(value) and math.isfinite(value) else GAP
    except OverflowError:
        return GAP
