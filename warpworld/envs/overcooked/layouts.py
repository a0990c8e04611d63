"""Kitchens as text: the five classic layouts, and layouts from a file.

A line is a row of cells: ``X`` a counter, ``P`` a pot, ``O`` a pile of onions, ``D`` a pile of plates, ``S`` where soup
is served, a space is floor, and ``1`` and ``2`` are the cells in which the cooks begin. It is the notation of
Overcooked-AI, the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpworld.environment import names_file
from warpworld.errors import DeclarationError, suggest

KINDS = " XPODS"  # a kind's place is its number in the kernel
COOKS = "12"

CLASSIC = {
    "cramped_room": ["XXPXX", "O1 2O", "X   X", "XDXSX"],
    "asymm_advantages": ["XXXXXXXXX", "O XSXOX S", "X   P   X", "X 1 P2  X", "XXXDXDXXX"],
    "coord_ring": ["XXXPX", "X 1 P", "D2X X", "O   X", "XOSXX"],
    "forced_coord": ["XXXPX", "O X2P", "O1X X", "D X X", "XXXSX"],
    "counter_circuit": ["XXXPPXXX", "X 1    X", "D XXXX S", "X     2X", "XXXOOXXX"],
}


@dataclass(frozen=True)
class Layout:
    """A kitchen.

    Attributes:
        cells: (rows, columns) uint8, the kind of each cell: its place in ``KINDS``.
        starts: the cells in which the cooks begin, row by row.
    """

    cells: np.ndarray
    starts: tuple[int, ...]


def layout_of(name: str) -> Layout:
    """A classic layout by name, or one from a text file.

    Raises:
        DeclarationError: there is no such layout or file, or it is no kitchen; with the line.
    """
    if not names_file(name):
        if name not in CLASSIC:
            known = ", ".join(CLASSIC)
            raise DeclarationError(
                f"layout='{name}': no such layout.{suggest(name, CLASSIC)} Known: {known}, or a file"
            )
        return _layout(CLASSIC[name], name)
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise DeclarationError(f"layout '{name}' cannot be read: {reason}") from error
    return _layout(text.splitlines(), name)


def _layout(rows: list[str], name: str) -> Layout:
    for number, row in enumerate(rows, 1):
        wrong = next((letter for letter in row if letter not in KINDS + COOKS), None)
        if wrong is not None:
            raise DeclarationError(f"{name}:{number}: '{wrong}' is no cell, expected X, P, O, D, S, 1, 2 or a space")
        if len(row) != len(rows[0]):
            raise DeclarationError(f"{name}:{number}: {len(row)} cells, expected {len(rows[0])} as in the first line")
    text = "".join(rows)
    for letter, meaning in {"P": "pot", "O": "pile of onions", "D": "pile of plates", "S": "serving cell"}.items():
        if letter not in text:
            raise DeclarationError(f"{name}: no {meaning} ({letter}), expected at least one")
    for cook in COOKS:
        if text.count(cook) != 1:
            raise DeclarationError(f"{name}: {text.count(cook)} cells are '{cook}', expected one: where a cook begins")
    kinds = [[0 if letter in COOKS else KINDS.index(letter) for letter in row] for row in rows]
    cells = np.array(kinds, dtype=np.uint8)
    for number, row in enumerate(cells, 1):
        if not (row[0] and row[-1]) or (number in (1, len(rows)) and not row.all()):
            raise DeclarationError(f"{name}:{number}: floor at the edge, expected counters all around the kitchen")
    return Layout(cells, tuple(text.index(cook) for cook in COOKS))
