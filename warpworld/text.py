"""Numbers and aligned rows of text, as people read them, and documents, as programs do."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def duration(seconds: float) -> str:
    """``3725`` as ``1:02:05``."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


_NOISE = 1e-6  # below it a mean return is what rounding leaves of 0


def shown(value: float | None) -> str:
    """A mean return for people: two decimals, or three digits of a small one; a dash where no episode has ended."""
    if value is None:
        return "-"
    return f"{value:.3g}" if _NOISE <= abs(value) < 0.01 else f"{value:,.2f}"


def shown_metric(value: float) -> str:
    """A number of any size: two decimals, or three digits of one below 1."""
    return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"


def number(value: float) -> str:
    """A number for an axis: 1500 as 1.5k."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:.3g}"


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows with their columns aligned; the last one runs free. What no terminal should get is escaped."""
    rows = [[printable(text) for text in row] for row in rows]
    if rows:
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
        for row in rows:
            print("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[-1]]).rstrip())


def print_json(document: Mapping[str, Any]) -> None:
    """Print a JSON document; numbers that are not finite, which JSON has no word for, are null."""
    print(json.dumps(_finite(document), indent=2))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextlib.contextmanager
def printed_for(output: str) -> Iterator[None]:
    """Send what is printed meanwhile to standard error where the output is to be "json": one document and no more."""
    with contextlib.redirect_stdout(sys.stderr) if output == "json" else contextlib.nullcontext():
        yield


def printable(text: str) -> str:
    r"""The text with control characters as ``\x1b`` or the like: names of files and runs may hold any."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
