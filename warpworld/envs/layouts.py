"""Layouts as text: which are known by name, and how a file with a row of cells in each line is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from warpworld.environment import names_file
from warpworld.errors import DeclarationError, suggest

Rows = list[tuple[int, str]]  # line numbers from 1, and the cells of each


def is_file(layout: str, known: Collection[str]) -> bool:
    """Whether a layout is the path of a file; else it is a known name.

    Raises:
        DeclarationError: it is neither; with the nearest name.
    """
    if layout in known:
        return False
    if names_file(layout):
        return True
    names = ", ".join(known)
    raise DeclarationError(f"layout={layout!r}: expected {names}, or the path of a text file.{suggest(layout, known)}")


def read_rows(path: str, letters: str, expected: str, ignored: str = "") -> Rows:
    """The rows of a text file, see ``checked_rows``.

    Raises:
        DeclarationError: it cannot be read, or a line is no row.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DeclarationError(f"layout={path!r}: the file cannot be read: {reason}") from error
    return checked_rows(text.splitlines(), path, letters, expected, ignored)


def checked_rows(lines: Iterable[str], name: str, letters: str, expected: str, ignored: str = "") -> Rows:
    """Rows of equally many cells, without empty lines.

    Args:
        lines: of text.
        name: of the layout or its file, for errors.
        letters: that a cell may be.
        expected: what errors call them.
        ignored: letters that count for nothing.

    Raises:
        DeclarationError: names the line and what is wrong there.
    """
    cells_of = ("".join(letter for letter in line if letter not in ignored) for line in lines)
    rows = [(number, cells) for number, cells in enumerate(cells_of, 1) if cells]
    if not rows:
        raise DeclarationError(f"{name}: the file is empty, expected a line of {expected} for each row")
    first, width = rows[0][0], len(rows[0][1])
    for number, cells in rows:
        for column, letter in enumerate(cells, 1):
            if letter not in letters:
                raise DeclarationError(f"{name}:{number}: cell {column} is {letter!r}, expected {expected}")
        if len(cells) != width:
            raise DeclarationError(f"{name}:{number}: {len(cells)} cells, expected {width} as in line {first}")
    return rows
