"""Homes drawn from a seed: rooms and corridors within a closed outer wall, joined by open doors.

What the numbers aim at is on ``docs/plans.md``. Every room can be reached from every other: the doors are a spanning
tree of the rooms, and some more that make loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from warpworld.errors import PlanError
from warpworld.eyes.plans.constants import OUTSIDE, RESOLUTION, WALL
from warpworld.eyes.plans.furniture import furniture
from warpworld.eyes.plans.outlines import outlines
from warpworld.eyes.plans.plan import Plan
from warpworld.eyes.plans.subdivision import UNIT, Boundary, Rectangle, boundaries, divided, ground

ROOMS = (6, 20)  # fewest and most
ROOM_AREA = 9.0  # square metres, of which a home has 1.0 to 1.2 times so many for each room and for three more
MOST_ROOMS, SMALLEST_AREA, LARGEST_AREA = 60, 7.0, 40.0
MARGIN = 20  # units of subdivision.py between the outer wall and the axes
PER_CELL = round(RESOLUTION / UNIT)
INNER_WALLS, OUTER_WALLS = (2, 3, 4), (4, 5)  # thickness, units; one of each in a home
DOOR_WIDTHS = (16, 18, 20)  # units
JAMB = 2  # units at least between a door and the next wall
OPENING = 36  # units at least, of what joins two rectangles into one room
LOOPS = (0.2, 0.4)  # further doors, as a part of those of the tree
MAX_ATTEMPTS = 1000


class Home(NamedTuple):
    """Layout of a home before its walls are drawn.

    Attributes:
        parts: the rectangles that it consists of.
        rooms: the room of each, from 1.
        lines: what they share with each other.
        doors: for each door its line, and where it begins and ends on that.
    """

    parts: list[Rectangle]
    rooms: list[int]
    lines: list[Boundary]
    doors: list[tuple[Boundary, int, int]]

    def is_open(self, line: Boundary) -> bool:
        """Whether no wall is on it: it lies within one room."""
        return self.rooms[line.first] == self.rooms[line.second]


def home(seed: int, index: int = 0, rooms: tuple[int, int] = ROOMS, room_area: float = ROOM_AREA) -> Plan:
    """Draw a home; the same arguments give the same one.

    Args:
        seed: of the series.
        index: which of the series.
        rooms: fewest and most rooms, including corridors, 1 to 60.
        room_area: square metres, 7 to 40: the ground has about this area for each room, plus three more.

    Raises:
        PlanError: an argument is out of range.
    """
    _check(seed, index, rooms, room_area)
    random = np.random.default_rng([int(seed), int(index)])
    count = round(float(rooms[0] + (rooms[1] - rooms[0]) * random.random(2).mean()))
    for _ in range(MAX_ATTEMPTS):
        drawn = _draw(random, count, (count + 3) * room_area * random.uniform(1.0, 1.2))
        if drawn is not None:
            return _build(random, drawn, f"home {seed}-{index}")
    raise PlanError(f"no home of {count} rooms found at room_area={room_area}; give it a larger room_area")


def homes(seed: int, count: int, rooms: tuple[int, int] = ROOMS, room_area: float = ROOM_AREA) -> list[Plan]:
    """The first ``count`` homes of a series; see ``home``.

    Raises:
        PlanError: an argument is out of range.
    """
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise PlanError(f"count={count!r}: expected a whole number of at least 1")
    return [home(seed, index, rooms, room_area) for index in range(count)]


def _check(seed: int, index: int, rooms: Sequence[int], room_area: float) -> None:
    for name, value in (("seed", seed), ("index", index)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < 2**64:
            raise PlanError(f"{name}={value!r}: expected a whole number of at least 0")
    fits = isinstance(rooms, (tuple, list)) and len(rooms) == 2 and all(isinstance(n, (int, np.integer)) for n in rooms)
    if not (fits and 1 <= rooms[0] <= rooms[1] <= MOST_ROOMS):
        raise PlanError(f"rooms={rooms!r}: expected fewest and most rooms, 1 to {MOST_ROOMS}, such as (6, 20)")
    if not (isinstance(room_area, (int, float)) and SMALLEST_AREA <= room_area <= LARGEST_AREA):
        raise PlanError(f"room_area={room_area!r}: expected {SMALLEST_AREA:g} to {LARGEST_AREA:g} square metres")


# ---- drawing ---------------------------------------------------------------------------------------------------------
def _draw(random: np.random.Generator, count: int, area: float) -> Home | None:
    """A home of ``count`` rooms, or None where this attempt leads to none."""
    joins = min(int(random.choice(3, p=(0.3, 0.45, 0.25))), count // 3)
    parts = divided(random, ground(random, area), count + joins)
    if parts is None:
        return None
    lines = boundaries(parts)
    rooms = _joined(random, parts, lines, joins)
    if rooms is None:
        return None
    doors = _doors(random, parts, rooms, lines)
    return None if doors is None else Home(parts, rooms, lines, doors)


def _joined(
    random: np.random.Generator, parts: Sequence[Rectangle], lines: Sequence[Boundary], joins: int
) -> list[int] | None:
    """The room of each part, where so many pairs of neighbours are one room."""
    owner = list(range(len(parts)))
    alone = set(owner)
    for place in random.permutation(len(lines)):
        line = lines[place]
        pair = {line.first, line.second}
        corridor = parts[line.first].corridor or parts[line.second].corridor
        if joins and not corridor and pair <= alone and line.high - line.low >= OPENING:
            alone -= pair
            owner[line.second] = line.first
            joins -= 1
    numbers = {first: number for number, first in enumerate(sorted(set(owner)), 1)}
    return None if joins else [numbers[first] for first in owner]


def _doors(
    random: np.random.Generator, parts: Sequence[Rectangle], rooms: Sequence[int], lines: Sequence[Boundary]
) -> list[tuple[Boundary, int, int]] | None:
    """A spanning tree of doors, rather to corridors than between rooms, and some more; None where rooms stay apart."""
    # walls between rooms, with space for a door
    room_for_door = max(DOOR_WIDTHS) + 2 * (JAMB + max(INNER_WALLS) // 2)
    possible = [
        line for line in lines if rooms[line.first] != rooms[line.second] and line.high - line.low >= room_for_door
    ]
    # a tree of doors, those of corridors first
    weights = random.random(len(possible))
    weights += [0.0 if parts[line.first].corridor or parts[line.second].corridor else 0.7 for line in possible]
    reach = {number: number for number in rooms}
    tree, spare, joined = [], [], set()
    for place in np.argsort(weights, kind="stable"):
        line = possible[place]
        pair = tuple(sorted((rooms[line.first], rooms[line.second])))
        one, other = reach[pair[0]], reach[pair[1]]
        if one != other:
            reach = {number: one if root == other else root for number, root in reach.items()}
            tree.append(line)
            joined.add(pair)
        elif pair not in joined:
            spare.append(line)
    if len(set(reach.values())) > 1:
        return None
    # further doors, which make loops
    more = round(len(tree) * random.uniform(*LOOPS))
    return [_door(random, line) for line in [*tree, *spare[:more]]]


def _door(random: np.random.Generator, line: Boundary) -> tuple[Boundary, int, int]:
    """Choose the place of a door on its line: near a corner of the room, or anywhere."""
    width = int(random.choice(DOOR_WIDTHS))
    margin = JAMB + max(INNER_WALLS) // 2
    spare = line.high - line.low - width - 2 * margin
    at = int(random.integers(min(spare, 6) + 1)) if random.random() < 0.6 else int(random.integers(spare + 1))
    begin = line.low + margin + (at if random.random() < 0.5 else spare - at)
    return line, begin, begin + width


# ---- building --------------------------------------------------------------------------------------------------------
def _build(random: np.random.Generator, drawn: Home, name: str) -> Plan:
    # the home, moved inside a margin
    inner, outer = int(random.choice(INNER_WALLS)), int(random.choice(OUTER_WALLS))
    offset = MARGIN + outer
    parts = [part.moved(offset) for part in drawn.parts]
    lines = [line._replace(at=line.at + offset, low=line.low + offset, high=line.high + offset) for line in drawn.lines]
    doors = [(line._replace(at=line.at + offset), low + offset, high + offset) for line, low, high in drawn.doors]
    moved = Home(parts, drawn.rooms, lines, doors)

    # solid units: walls and furniture
    solid, owner = _painted(moved, inner, outer)
    for box in furniture(random, moved, inner):
        solid[box.cells] = True
    # rooms in coarser cells
    in_rows = np.logical_or.reduce([solid[i::PER_CELL] for i in range(PER_CELL)])
    touched = np.logical_or.reduce([in_rows[:, i::PER_CELL] for i in range(PER_CELL)])
    rooms = np.where(touched, WALL, owner[::PER_CELL, ::PER_CELL])
    return Plan(name, outlines(solid) * UNIT, _lights(random, moved), rooms)


def _painted(drawn: Home, inner: int, outer: int) -> tuple[np.ndarray, np.ndarray]:
    """Paint the plane: whether each unit is solid, and the room that owns it."""
    # a plane with space for the outer walls
    rows, columns = (max(side) + outer + MARGIN for side in zip(*((p.y1, p.x1) for p in drawn.parts), strict=True))
    shape = tuple(-(-length // PER_CELL) * PER_CELL for length in (rows, columns))
    solid, owner = np.zeros(shape, dtype=bool), np.full(shape, OUTSIDE, dtype=np.int16)
    # outer walls, rooms, inner walls and doors, each painted over the last
    for part in drawn.parts:
        solid[part.grown(outer).cells] = True
    for part, room in zip(drawn.parts, drawn.rooms, strict=True):
        solid[part.cells], owner[part.cells] = False, room
    before, behind = inner // 2, inner - inner // 2
    for line in drawn.lines:
        if not drawn.is_open(line):
            solid[line.strip(line.low - before, line.high + behind, before, behind).cells] = True
    for line, low, high in drawn.doors:
        solid[line.strip(low, high, before, behind).cells] = False
    return solid, owner


def _lights(random: np.random.Generator, drawn: Home) -> np.ndarray:
    """A light in the middle of each room's largest part, (rooms, 3)."""
    lights = []
    for room in range(1, max(drawn.rooms) + 1):
        own = [part for part, number in zip(drawn.parts, drawn.rooms, strict=True) if number == room]
        largest = max(own, key=lambda part: part.width * part.height)
        x, y = UNIT * (largest.x0 + largest.x1) / 2, UNIT * (largest.y0 + largest.y1) / 2
        lights.append((x, y, random.uniform(0.5, 2.0)))
    return np.array(lights)
