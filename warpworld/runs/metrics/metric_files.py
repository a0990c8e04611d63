"""Logged lines of a run, read back: the good lines of a file, and which lines are damaged."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.files import read_file, readable, reason

Row = dict[str, Any]

MOST_NAMED = 5  # damaged lines that a message lists

logger = logging.getLogger(__name__)


@dataclass
class Damage:
    """Lines of a file that hold no JSON object. They are left out wherever metrics are read.

    Attributes:
        path: the file.
        count: how many there are.
        first: numbers of the first of them, counted from 1.
    """

    path: Path
    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Note that a line is damaged."""
        self.count += 1
        if self.count <= MOST_NAMED:
            self.first.append(number)

    def __str__(self) -> str:
        """The message; "" where nothing is damaged."""
        if not self.count:
            return ""
        if self.count == 1:
            return f"'{readable(self.path)}': line {self.first[0]} is damaged and left out"
        more = self.count - len(self.first)
        *head, last = [*map(str, self.first), *([f"{more:,} more"] if more else [])]
        return f"'{readable(self.path)}': {self.count:,} lines are damaged and left out: {', '.join(head)} and {last}"


@dataclass(frozen=True, eq=False)
class Metrics:
    """A file of metrics as far as it is good.

    Attributes:
        rows: the JSON objects, in order.
        damage: the lines that are none.
    """

    rows: Sequence[Row]
    damage: Damage


def read_metrics(metrics_path: str | Path) -> Metrics:
    """Read a ``metrics.jsonl`` or ``timing.jsonl``; damaged lines are left out, and a warning names them.

    Raises:
        RunError: the file cannot be read.
    """
    path = Path(metrics_path)
    try:
        raw = read_file(path)
    except OSError as error:
        raise RunError(f"'{path}' cannot be read: {reason(error)}") from error
    damage = Damage(path)
    rows = good_rows(whole_lines(raw), damage)
    if damage.count:
        logger.warning("%s", damage)
    return Metrics(rows, damage)


def whole_lines(raw: bytes) -> bytes:
    """Text up to the last line end: a line without its end is still being written, or was cut off."""
    return raw[: raw.rfind(b"\n") + 1]


def good_rows(lines: bytes, damage: Damage, before: int = 0) -> list[Row]:
    """Parse whole lines.

    Args:
        lines: of a file, each with its end.
        damage: takes the lines that are no JSON object.
        before: how many lines of the file stand before them.
    """
    rows = []
    for number, line in enumerate(lines.split(b"\n")[:-1], before + 1):
        row = _parsed(line)
        if row is None:
            damage.add(number)
        else:
            rows.append(row)
    return rows


def find_damage(lines: bytes, damage: Damage) -> None:
    """Note the damaged ones of whole lines, without parsing the lines of a file that is sound by its outline."""
    if not _looks_sound(lines):
        good_rows(lines, damage)


def _parsed(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _looks_sound(lines: bytes) -> bool:
    """Whether each line is one flat object by its braces and quotes: a torn, overwritten or joined line is not."""
    import numpy as np

    text = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    alike = bool((text[starts] == ord("{")).all() and (text[ends - 1] == ord("}")).all())
    braces, quotes, colons = (int(np.count_nonzero(text == ord(mark))) for mark in '{":')
    return alike and braces == len(ends) and quotes == 2 * colons and b"\0" not in lines and lines.isascii()
