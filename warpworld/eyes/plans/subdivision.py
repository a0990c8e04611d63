"""Divides a home: the shape of its ground, cut into rectangles, with corridors, by straight walls.

Lengths are whole numbers of units of 5 cm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

UNIT = 0.05  # metres
SHORTEST_SIDE = 42  # of a room, between the middles of its walls
CORRIDOR_WIDTHS = (26, 34)
LONGEST_SIDE, LEAST_SIDE = 380, 168  # of the ground, where the rooms fill it
SHAPES = {"rectangle": 0.25, "L": 0.4, "T": 0.2, "U": 0.15}  # how often


class Rectangle(NamedTuple):
    """A part of the ground: [x0, x1] x [y0, y1]."""

    x0: int
    y0: int
    x1: int
    y1: int
    corridor: bool = False

    @property
    def width(self) -> int:
        """Width along x, units."""
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        """Height along y, units."""
        return self.y1 - self.y0

    def turned(self) -> Rectangle:
        """Return the rectangle with x and y exchanged."""
        return Rectangle(self.y0, self.x0, self.y1, self.x1, self.corridor)

    def grown(self, by: int) -> Rectangle:
        """Larger by so much on all sides."""
        return self._replace(x0=self.x0 - by, y0=self.y0 - by, x1=self.x1 + by, y1=self.y1 + by)

    def moved(self, by: int) -> Rectangle:
        """Return the rectangle, moved along both axes."""
        return self._replace(x0=self.x0 + by, y0=self.y0 + by, x1=self.x1 + by, y1=self.y1 + by)

    def overlaps(self, other: Rectangle) -> bool:
        """Whether they have more than an edge in common."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1

    @property
    def cells(self) -> tuple[slice, slice]:
        """Slices of its part of an array (rows, columns)."""
        return slice(self.y0, self.y1), slice(self.x0, self.x1)


class Boundary(NamedTuple):
    """The line that two rectangles share: at x (``upright``) or y ``at``, from ``low`` to ``high``."""

    first: int
    second: int
    upright: bool
    at: int
    low: int
    high: int

    def strip(self, low: int, high: int, before: int, behind: int) -> Rectangle:
        """The part of the line from ``low`` to ``high``, so wide before and behind it."""
        level = Rectangle(low, self.at - before, high, self.at + behind)
        return level.turned() if self.upright else level


def ground(random: np.random.Generator, area: float) -> list[Rectangle]:
    """A rectangle or the letter L, T or U, made of one to three rectangles, turned and mirrored at random.

    Args:
        random: what is drawn from.
        area: square metres.
    """
    # shape and proportions
    shape = random.choice(list(SHAPES), p=list(SHAPES.values()))
    across, along = random.uniform(0.3, 0.45, 2)  # what is cut out, as parts of width and height
    wings = random.uniform(0.45, 0.55)
    fill = 1 - (0 if shape == "rectangle" else across * along)
    # sides in units
    whole = area / UNIT**2 / fill
    aspect = random.uniform(1.0, float(np.clip(whole / LEAST_SIDE**2, 1.1, 1.6)))
    width = min(_even(np.sqrt(whole * aspect)), LONGEST_SIDE)
    height = min(_even(np.sqrt(whole / aspect)), LONGEST_SIDE)
    cut, step = _even(width * across), height - _even(height * along)
    left = _even(cut * wings) if shape == "T" else _even((width - cut) * wings)
    # rectangles of the shape
    parts = {
        "L": [(0, 0, width, step), (cut, step, width, height)],
        "T": [(0, 0, width, step), (left, step, width - (cut - left), height)],
        "U": [(0, 0, width, step), (0, step, left, height), (left + cut, step, width, height)],
    }.get(shape, [])
    rectangles = [Rectangle(*part) for part in parts]
    # a plain rectangle instead of parts that are too small
    if any(min(part.width, part.height) < SHORTEST_SIDE + 10 for part in rectangles) or not rectangles:
        side = _even(np.sqrt(area / UNIT**2 / aspect))
        rectangles = [Rectangle(0, 0, _even(side * aspect), side)]
    return _turned_at_random(random, rectangles)


def _even(value: float) -> int:
    return 2 * round(float(value) / 2)


def _turned_at_random(random: np.random.Generator, parts: list[Rectangle]) -> list[Rectangle]:
    width, height = max(part.x1 for part in parts), max(part.y1 for part in parts)
    mirror_x, mirror_y, turn = random.random(3) < 0.5
    if mirror_x:
        parts = [part._replace(x0=width - part.x1, x1=width - part.x0) for part in parts]
    if mirror_y:
        parts = [part._replace(y0=height - part.y1, y1=height - part.y0) for part in parts]
    return [part.turned() for part in parts] if turn else parts


def divided(random: np.random.Generator, parts: Sequence[Rectangle], count: int) -> list[Rectangle] | None:
    """Cut rectangles until there are ``count`` of them; None where they became too small before.

    The largest is cut next, roughly, and across its longer side; large ones may be cut into two rows of rooms along a
    corridor.
    """
    parts = list(parts)
    corridors = 0
    while len(parts) < count:
        sizes = [_size(part) * random.uniform(0.6, 1.0) for part in parts]
        chosen = int(np.argmax(sizes))
        if not sizes[chosen]:
            return None
        part = parts.pop(chosen)
        if corridors < 2 and len(parts) + 3 <= count and _has_room_for_corridor(part) and random.random() < 0.7:
            corridors += 1
            parts += _with_corridor(random, part)
        else:
            parts += _cut(random, part)
    return parts if len(parts) == count else None


def _size(part: Rectangle) -> int:
    """Area, 0 where it cannot be cut."""
    can_be_cut = not part.corridor and max(part.width, part.height) >= 2 * SHORTEST_SIDE + 2
    return part.width * part.height if can_be_cut else 0


def _has_room_for_corridor(part: Rectangle) -> bool:
    shorter, longer = sorted((part.width, part.height))
    return shorter >= 2 * (SHORTEST_SIDE + 4) + CORRIDOR_WIDTHS[1] and longer >= 140


def _cut(random: np.random.Generator, part: Rectangle) -> list[Rectangle]:
    if part.width < part.height:
        return [half.turned() for half in _cut(random, part.turned())]
    at = _even(part.width * random.uniform(0.35, 0.65))
    at = part.x0 + int(np.clip(at, SHORTEST_SIDE, part.width - SHORTEST_SIDE))
    return [part._replace(x1=at), part._replace(x0=at)]


def _with_corridor(random: np.random.Generator, part: Rectangle) -> list[Rectangle]:
    """Two rows of rooms, and a corridor between them along the longer side."""
    if part.width < part.height:
        return [strip.turned() for strip in _with_corridor(random, part.turned())]
    width = _even(random.uniform(*CORRIDOR_WIDTHS))
    at = part.y0 + _even(part.height * random.uniform(0.4, 0.6) - width / 2)
    at = int(np.clip(at, part.y0 + SHORTEST_SIDE, part.y1 - width - SHORTEST_SIDE))
    return [part._replace(y1=at), part._replace(y0=at, y1=at + width, corridor=True), part._replace(y0=at + width)]


def boundaries(parts: Sequence[Rectangle]) -> list[Boundary]:
    """The lines that two rectangles share."""
    found = []
    for i, a in enumerate(parts):
        for j, b in enumerate(parts):
            if a.x1 == b.x0 and min(a.y1, b.y1) > max(a.y0, b.y0):
                found.append(Boundary(i, j, True, a.x1, max(a.y0, b.y0), min(a.y1, b.y1)))
            if a.y1 == b.y0 and min(a.x1, b.x1) > max(a.x0, b.x0):
                found.append(Boundary(i, j, False, a.y1, max(a.x0, b.x0), min(a.x1, b.x1)))
    return found
