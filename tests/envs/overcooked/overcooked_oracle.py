"""Overcooked in plain Python, one kitchen at a time, written from its rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TOWARDS = ((0, -1), (0, 1), (1, 0), (-1, 0))  # up, down, right, left: columns and rows
INTERACT = 5


@dataclass
class Kitchen:
    """A kitchen; cells are (column, row).

    Attributes:
        rows: the layout as text, with floor where cooks begin.
        places: of the two cooks.
        facing: of each, a place in ``TOWARDS``.
        held: of each: "", "onion", "plate" or "soup".
        counters: what lies on them, by cell.
        pots: by cell the number of onions, or "cooking" with the steps that remain, 0 when its soup is ready.
    """

    rows: list[str]
    places: list[tuple[int, int]]
    facing: list[int]
    held: list[str]
    counters: dict[tuple[int, int], str]
    pots: dict[tuple[int, int], tuple[str, int]]

    def kind(self, cell: tuple[int, int]) -> str:
        """The letter of a cell."""
        return self.rows[cell[1]][cell[0]]

    def step(self, actions: list[int]) -> tuple[int, list[int]]:
        """Soups that are served, and each cook's small rewards."""
        served, small = 0, [0, 0]
        for cook in range(2):
            if actions[cook] == INTERACT:
                was_served, small[cook] = self._interact(cook)
                served += was_served
        self._move(actions)
        self.pots = {
            cell: ("cooking", 19 if what == "onions" else max(count - 1, 0))
            if what == "cooking" or count == 3
            else (what, count)
            for cell, (what, count) in self.pots.items()
        }
        return served, small

    def _interact(self, cook: int) -> tuple[bool, int]:
        cell = _next(self.places[cook], self.facing[cook])
        kind, held = self.kind(cell), self.held[cook]
        if kind == "P":
            what, count = self.pots[cell]
            if held == "onion" and what == "onions" and count < 3:
                self.pots[cell], self.held[cook] = ("onions", count + 1), ""
                return False, 3
            if held == "plate" and (what, count) == ("cooking", 0):
                self.pots[cell], self.held[cook] = ("onions", 0), "soup"
                return False, 5
        elif kind == "S" and held == "soup":
            self.held[cook] = ""
            return True, 0
        elif kind == "X" and held and cell not in self.counters:
            self.counters[cell], self.held[cook] = held, ""
        elif not held and (kind in "OD" or cell in self.counters):
            taken = {"O": "onion", "D": "plate"}.get(kind) or self.counters[cell]
            busy = sum(pot != ("onions", 0) for pot in self.pots.values())
            is_wanted = self.held.count("plate") < busy and "plate" not in self.counters.values()
            self.counters.pop(cell, None)
            self.held[cook] = taken
            return False, 3 if taken == "plate" and is_wanted else 0
        return False, 0

    def _move(self, actions: list[int]) -> None:
        wanted = list(self.places)
        for cook, action in enumerate(actions):
            if action < 4:
                self.facing[cook] = action
                cell = _next(self.places[cook], action)
                if self.kind(cell) == " ":
                    wanted[cook] = cell
        if wanted[0] != wanted[1] and wanted != self.places[::-1]:
            self.places = wanted

    def layers(self, cook: int, is_urgent: bool) -> np.ndarray:
        """(22, rows, columns): what a cook sees; numbers of onions and steps where the others are flags."""
        seen = np.zeros((22, len(self.rows), len(self.rows[0])))
        for layer, who in ((0, cook), (1, 1 - cook)):
            x, y = self.places[who]
            seen[layer, y, x] = seen[2 + 4 * layer + self.facing[who], y, x] = 1
        for y, row in enumerate(self.rows):
            for x, letter in enumerate(row):
                if letter in "PXODS" and (x, y) not in self.counters:
                    seen[10 + "PXODS".index(letter), y, x] = 1
        for (x, y), (what, count) in self.pots.items():
            if what == "onions":
                seen[15, y, x] = count
            else:
                seen[16, y, x], seen[17, y, x], seen[18, y, x] = 3, count, count == 0
        for (x, y), item in [*self.counters.items(), *zip(self.places, self.held, strict=True)]:
            if item == "soup":
                seen[16, y, x], seen[18, y, x] = 3, 1
            elif item:
                seen[19 if item == "plate" else 20, y, x] = 1
        seen[21] = is_urgent
        return seen


def _next(cell: tuple[int, int], direction: int) -> tuple[int, int]:
    return cell[0] + TOWARDS[direction][0], cell[1] + TOWARDS[direction][1]
