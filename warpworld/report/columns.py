"""Rows of text, aligned."""

from __future__ import annotations

from collections.abc import Sequence


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
