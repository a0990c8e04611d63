"""What was logged of a run, read back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from warpworld.errors import RunError
from warpworld.files import read_file, reason

Point = tuple[float, float]

OWN = "env/"  # what the names of an environment's own metrics begin with


def read_metrics(metrics_path: str | Path) -> list[dict[str, Any]]:
    """The lines of a ``metrics.jsonl``; a last line that was cut off while being written is left out.

    Raises:
        RunError: the file cannot be read, or an earlier line is not JSON.
    """
    try:
        lines = read_file(metrics_path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"'{metrics_path}' cannot be read: {reason(error)}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if number < len(lines):
                raise RunError(f"'{metrics_path}', line {number}: not JSON: {error}") from error
    return [row for row in rows if isinstance(row, dict)]


def own_metrics(names: Iterable[str]) -> dict[str, str]:
    """The environment's own metrics among names, each with a heading: ``env/tagger/kills`` is "tagger: kills"."""
    own = [name for name in names if name.startswith(OWN)]
    return {name: name.removeprefix(OWN).replace("/", ": ").replace("_", " ") for name in own}


def points_of(rows: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    """(env steps, value) of a metric, where it is a number."""
    pairs = ((row.get("env_steps"), row.get(key)) for row in rows)
    return [(x, y) for x, y in pairs if _is_number(x) and _is_number(y)]


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that a chart can show."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False
