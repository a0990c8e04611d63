"""Boxes along the walls of a home: cupboards, beds, kitchens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpworld.eyes.plans.subdivision import Rectangle

if TYPE_CHECKING:
    from warpworld.eyes.plans.generator import Home

OFTEN = 0.6  # of the rectangles that a home consists of
DEPTHS, LENGTHS = (8, 16), (16, 40)  # units of subdivision.py
PASSAGE = 20  # units that stay free beside a box
NICHE = 10  # units at least between a box and a corner, if any
LIGHT = 6  # units that stay free around the middle, where the light is
BEFORE_DOOR = 18  # units that stay free before a door, and before what joins two rectangles into one room
ATTEMPTS = 4


def furniture(random: np.random.Generator, drawn: Home, inner: int) -> Iterator[Rectangle]:
    """At most one box in each rectangle that is not a corridor; it blocks no way.

    Args:
        random: what is drawn from.
        drawn: the home.
        inner: thickness of its inner walls, units.
    """
    kept_free = [line.strip(low - 4, high + 4, BEFORE_DOOR, BEFORE_DOOR) for line, low, high in drawn.doors]
    openings = [line for line in drawn.lines if drawn.is_open(line)]
    kept_free += [line.strip(line.low, line.high, BEFORE_DOOR, BEFORE_DOOR) for line in openings]
    for part in drawn.parts:
        if not part.corridor and random.random() < OFTEN:
            yield from _box(random, part, inner - inner // 2, kept_free)


def _box(
    random: np.random.Generator, part: Rectangle, wall: int, kept_free: Sequence[Rectangle]
) -> Iterator[Rectangle]:
    """A box that stands out from a wall, of which so much is in the rectangle, if one of some attempts fits."""
    for _ in range(ATTEMPTS):
        turn, far = random.random(2) < 0.5
        space = part.turned() if turn else part
        depth, length = (wall + int(random.integers(low, high + 1)) for low, high in (DEPTHS, LENGTHS))
        spare = space.width - length
        if spare < PASSAGE or depth > min(space.height // 2 - LIGHT, space.height - PASSAGE):
            continue
        places = [0, spare, *range(NICHE, spare - NICHE + 1)]
        x = space.x0 + places[int(random.integers(2 if random.random() < 0.6 else len(places)))]
        y = space.y1 - depth if far else space.y0
        box = Rectangle(x, y, x + length, y + depth)
        box = box.turned() if turn else box
        if not any(box.overlaps(zone) for zone in kept_free):
            yield box
            return
