"""Numbers and aligned rows of text, as people read them."""

from __future__ import annotations

from collections.abc import Sequence


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


def printable(text: str) -> str:
    r"""The text with control characters as ``\x1b`` or the like: names of files and runs may hold any."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
