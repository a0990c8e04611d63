"""Files of a trace: a CSV file with a row for each agent, or an archive with an array for each array."""

from __future__ import annotations

import csv
import io
import itertools
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from warpworld.checking.tracing.columns import LEADING, Shown, header

Agents = Sequence[tuple[int, str]]  # number in the env, and group


class Table(Protocol):
    """Writer of an env's numbers, a step or a reset at a time."""

    def add(
        self, step: int, episode: int, event: str, numbers: Mapping[str, np.ndarray], blank: Collection[str]
    ) -> int:
        """Take the arrays' numbers; those of ``blank`` say nothing at this event. The number of rows that they make."""

    def finish(self) -> None:
        """Bring everything into the file."""


class CsvTable:
    """Rows of text; ``Trace`` describes them."""

    def __init__(self, file: BinaryIO, shown: Sequence[Shown], agents: Agents) -> None:
        self._shown, self._agents = shown, agents
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(header(shown))

    def add(
        self, step: int, episode: int, event: str, numbers: Mapping[str, np.ndarray], blank: Collection[str]
    ) -> int:
        """Write a row for each agent."""
        tables = [
            source.rows(None if source.array.name in blank else numbers[source.array.name], len(self._agents))
            for source in self._shown
        ]
        for agent, group in self._agents:
            cells = itertools.chain.from_iterable(table[agent] for table in tables)
            self._writer.writerow([step, episode, event, agent, group, *cells])
        return len(self._agents)

    def finish(self) -> None:
        """Leave the file open: the caller closes it."""
        self._text.detach()  # which would close the file too soon


class ArrayTable:
    """Arrays as ``numpy.load`` reads them: the first dimension is that of the events; numbers that are blank are 0."""

    def __init__(self, file: BinaryIO, shown: Sequence[Shown], agents: Agents) -> None:
        self._file, self._shown = file, shown
        self._groups = np.array([group for _, group in agents])
        self._events: list[tuple[int, int, str]] = []
        self._entries: list[list[np.ndarray]] = [[] for _ in shown]

    def add(
        self, step: int, episode: int, event: str, numbers: Mapping[str, np.ndarray], blank: Collection[str]
    ) -> int:
        """Keep a copy of each array."""
        self._events.append((step, episode, event))
        for source, entries in zip(self._shown, self._entries, strict=True):
            entries.append(source.event(numbers[source.array.name], source.array.name in blank))
        return 1

    def finish(self) -> None:
        """Write the archive."""
        steps, episodes, events = zip(*self._events, strict=True) if self._events else ((), (), ())
        found = {"step": np.array(steps, np.int64), "episode": np.array(episodes, np.int64), "event": np.array(events)}
        found["group"] = self._groups
        for source, entries in zip(self._shown, self._entries, strict=True):
            name = source.name
            while name in {*found, *LEADING}:
                name += "_"
            found[name] = np.array(entries)
        np.savez_compressed(self._file, **found)  # type: ignore[arg-type]


def table_for(path: Path) -> type[CsvTable] | type[ArrayTable]:
    """Writer for a file of this name: arrays for a ``.npz``, else CSV."""
    return ArrayTable if path.suffix == ".npz" else CsvTable


def is_trace(path: Path) -> bool:
    """Whether a file is an older trace of its kind, which a new one may replace; raises OSError if it is unreadable."""
    if table_for(path) is CsvTable:
        start = ",".join(LEADING).encode()
        with open(path, "rb") as file:
            return file.read(len(start)) == start
    try:
        with zipfile.ZipFile(path) as archive:
            return {"step.npy", "episode.npy", "event.npy"} <= {*archive.namelist()}
    except zipfile.BadZipFile:
        return False
