"""Kitchens as text: the five classic layouts, and layouts from a file.

A line is a row of cells: ``X`` a counter, ``P`` a pot, ``O`` a pile of onions, ``D`` a pile of plates, ``S`` where soup
is served, a space is floor, and ``1`` and ``2`` are the cells in which the cooks begin. It is the notation of
Overcooked-AI, the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpworld.envs.layouts import Rows, checked_rows, is_file, read_rows
from warpworld.errors import DeclarationError

KINDS = " XPODS"  # a kind's place is its number in the kernel
COOKS = "12"
LETTERS, SPELLED = KINDS + COOKS, "X, P, O, D, S, 1, 2 or a space"

CLASSIC = {
    "cramped_room": ["XXPXX", "O1 2O", "X   X", "XDXSX"],
    "asymm_advantages": ["XXXXXXXXX", "O XSXOX S", "X   P   X", "X 1 P2  X", "XXXDXDXXX"],
    "coord_ring": ["XXXPX", "X 1 P", "D2X X", "O   X", "XOSXX"],
    "forced_coord": ["XXXPX", "O X2P", "O1X X", "D X X", "XXXSX"],
    "counter_circuit": ["XXXPPXXX", "X 1    X", "D XXXX S", "X     2X", "XXXOOXXX"],
}


@dataclass(frozen=True)
class Layout:
    """Kitchen: its cells, and the places where cooks start.

    Attributes:
        cells: (rows, columns) uint8, the kind of each cell: its place in ``KINDS``.
        starts: the cells in which the cooks begin, row by row.
    """

    cells: np.ndarray
    starts: tuple[int, ...]

    @property
    def parts(self) -> np.ndarray:
        """(rows, columns) int32: a number from 1 for each stretch of connected floor, 0 where there is none."""
        parts = np.zeros(self.cells.shape, dtype=np.int32)
        for start in np.argwhere(self.cells == 0):
            if parts[tuple(start)] == 0:
                _fill(self.cells, parts, tuple(start), parts.max() + 1)
        return parts


def layout_of(name: str) -> Layout:
    """A classic layout by name, or one from a text file.

    Raises:
        DeclarationError: there is no such layout or file, or it is no kitchen; with the line.
    """
    if is_file(name, CLASSIC):
        return _layout(read_rows(name, LETTERS, SPELLED), name)
    return _layout(checked_rows(CLASSIC[name], name, LETTERS, SPELLED), name)


def _fill(cells: np.ndarray, parts: np.ndarray, start: tuple[int, ...], number: int) -> None:
    """Number the floor that can be walked to from one cell."""
    waiting = [start]
    while waiting:
        row, column = waiting.pop()
        if cells[row, column] == 0 and parts[row, column] == 0:
            parts[row, column] = number
            waiting += [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]


def _layout(rows: Rows, name: str) -> Layout:
    text = "".join(row for _, row in rows)
    for letter, meaning in {"P": "pot", "O": "pile of onions", "D": "pile of plates", "S": "serving cell"}.items():
        if letter not in text:
            raise DeclarationError(f"{name}: no {meaning} ({letter}), expected at least one")
    for cook in COOKS:
        if text.count(cook) != 1:
            raise DeclarationError(f"{name}: {text.count(cook)} cells are '{cook}', expected one: where a cook begins")
    kinds = [[0 if letter in COOKS else KINDS.index(letter) for letter in row] for _, row in rows]
    cells = np.array(kinds, dtype=np.uint8)
    edges = rows[0][0], rows[-1][0]
    for (number, _), row in zip(rows, cells, strict=True):
        if not (row[0] and row[-1]) or (number in edges and not row.all()):
            raise DeclarationError(f"{name}:{number}: floor at the edge, expected counters all around the kitchen")
    return Layout(cells, tuple(text.index(cook) for cook in COOKS))
