"""Index of all runs: a line each, read in the background and again where files have changed."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpworld.cli.board.fenced import READ, fenced_runs
from warpworld.errors import RunError
from warpworld.runs import RunFolder, RunSummary, is_training, summarise

SECONDS = 2.0  # between two looks at the folder
REST = 4.0  # times as long as a look took, so that large folders leave the machine to those who train
TAIL = 4096  # bytes at the end of timing.jsonl, where the speed stands

_log = logging.getLogger(__name__)

Stamp = tuple[Any, ...]


@dataclass
class Entry:
    """A run on the board.

    Attributes:
        run: its folder.
        stamp: of its files when it was read; None before that.
        row: what the page shows, as JSON has it.
        version: of the index when ``row`` changed last.
    """

    run: RunFolder
    stamp: Stamp | None
    row: dict[str, Any]
    version: int


class RunIndex:
    """Rows of all runs in a folder; a page asks for those that changed since it last asked.

    Attributes:
        folder: where the runs lie.

    Args:
        folder: see above; it need not hold a run yet.

    Raises:
        RunError: it is no folder, or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries: dict[str, Entry] = {}
        self._gone: dict[str, int] = {}
        self._version = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._list()

    # ---- what pages ask ----------------------------------------------------------------------------------------------
    def changes(self, since: int = 0) -> dict[str, Any]:
        """Rows that changed after version ``since``, and names that are gone: JSON's own types."""
        with self._lock:
            rows = [entry.row for entry in self._entries.values() if entry.version > since]
            gone = [name for name, version in self._gone.items() if version > since]
            return {"version": self._version, "runs": rows, "gone": gone}

    def find(self, name: str) -> RunFolder | None:
        """The run of that name; None where the folder lists none."""
        with self._lock:
            return self._entries[name].run if name in self._entries else None

    # ---- reading -----------------------------------------------------------------------------------------------------
    def watch(self) -> None:
        """Read again and again what has changed, until ``close``."""
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                self.refresh()
            except RunError as error:  # the folder is gone or forbidden; it may come back
                _log.warning("%s", error)
            took = time.monotonic() - began
            self._closing.wait(max(SECONDS, REST * took if took > 1.0 else 0.0))

    def close(self) -> None:
        """End ``watch`` after the run that it reads."""
        self._closing.set()

    def refresh(self) -> None:
        """List the folder, then read every run that has changed, the newest first.

        Raises:
            RunError: the folder cannot be read.
        """
        self._list()
        with self._lock:
            entries = sorted(self._entries.items(), key=lambda item: -item[1].row["modified"])
        for name, entry in entries:
            if self._closing.is_set():
                return
            stamp = _stamp(entry.run)
            if stamp != entry.stamp:
                self._put(name, entry.run, stamp, _row(name, summarise(entry.run), stamp))

    def _list(self) -> None:
        runs = fenced_runs(self.folder)
        with self._lock:
            known = set(self._entries)
        for name in runs.keys() - known:
            self._put(name, runs[name], None, _unread_row(name, runs[name]))
        with self._lock:
            for name in known - runs.keys():
                self._version += 1
                del self._entries[name]
                self._gone[name] = self._version

    def _put(self, name: str, run: RunFolder, stamp: Stamp | None, row: dict[str, Any]) -> None:
        with self._lock:
            before = self._entries.get(name)
            changed = before is None or before.row != row
            self._version += changed
            self._gone.pop(name, None)
            self._entries[name] = Entry(run, stamp, row, self._version if changed or not before else before.version)


def _stamp(run: RunFolder) -> Stamp:
    """Sizes and times of a run's files, and whether it trains: a run of the same stamp is not read again."""
    recorded = _size_and_time(run.recorded.folder)
    return (*(_size_and_time(run.path / name) for name in READ), recorded, is_training(run))


def _size_and_time(path: Path) -> tuple[int, float]:
    try:
        found = path.stat()
    except OSError:
        return -1, 0.0
    return found.st_size, found.st_mtime


def _row(name: str, summary: RunSummary, stamp: Stamp) -> dict[str, Any]:
    times = dict(zip((*READ, "recorded"), stamp, strict=False))
    recorded = RunFolder(summary.path).recorded.iterations()
    return {
        "name": name,
        "state": summary.state,
        "title": summary.config.title if summary.config else "",
        "env_steps": summary.env_steps,
        "total": summary.total,
        "returns": {policy: {"last": found.last, "best": found.best} for policy, found in summary.returns.items()},
        "speed": _speed(summary.path / "timing.jsonl"),
        "replay": times["replay.html"][1],
        "recorded": {"iterations": recorded, "time": times["recorded"][1] if recorded else 0.0},
        "modified": max(times["config.yaml"][1], times["metrics.jsonl"][1]),
        "problem": summary.problem,
        "note": summary.note,
    }


def _unread_row(name: str, run: RunFolder) -> dict[str, Any]:
    empty = RunSummary(run.path, "stopped")
    return {**_row(name, empty, _stamp(run)), "state": "reading"}


def _speed(path: Path) -> float | None:
    """Env steps per second of the last iteration that was logged."""
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, 2) - TAIL, 0))
            last = file.read().splitlines()[-1]
        value = json.loads(last)["perf/env_steps_per_s"]
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
