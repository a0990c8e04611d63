"""The simplest plans: an empty square room, and one with a column in the middle."""

from __future__ import annotations

import math

import numpy as np

from warpworld.errors import PlanError
from warpworld.eyes.plans.constants import WALL
from warpworld.eyes.plans.plan import Plan
from warpworld.eyes.plans.room_map import MARGIN, map_around, map_of_rooms

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # counter-clockwise: what is inside lies left


def box(side: float = 5.0) -> Plan:
    """A square room of four walls from (1, 1), with a light in its middle.

    Args:
        side: metres, 1 to 100.

    Raises:
        PlanError: ``side`` is out of range.
    """
    corners = MARGIN + _checked(side, 1.0) * CORNERS
    middle = MARGIN + side / 2
    return _room("box", side, _loop(corners), [[middle, middle, 1.0]], np.empty((0, 2)))


def column(side: float = 6.0) -> Plan:
    """A square room from (1, 1) with an octagonal column in its middle, a third of it wide, and two lights.

    Args:
        side: metres, 3 to 100.

    Raises:
        PlanError: ``side`` is out of range.
    """
    corners = MARGIN + _checked(side, 3.0) * CORNERS
    angles = -np.pi / 8 - np.pi / 4 * np.arange(8)  # clockwise: what is outside lies left
    octagon = MARGIN + side / 2 + side / 6 * np.stack([np.cos(angles), np.sin(angles)], -1)
    near, far = MARGIN + side / 6, MARGIN + side * 5 / 6
    return _room("column", side, [*_loop(corners), *_loop(octagon)], [[near, near, 1.0], [far, far, 0.5]], octagon)


def _checked(side: float, least: float) -> float:
    if not (isinstance(side, (int, float)) and math.isfinite(side) and least <= side <= 100):
        raise PlanError(f"side={side!r}: expected {least:g} to 100 metres")
    return float(side)


def _loop(corners: np.ndarray) -> list[np.ndarray]:
    return list(np.stack([corners, np.roll(corners, -1, axis=0)], 1))


def _room(name: str, side: float, walls: list[np.ndarray], lights: list[list[float]], hole: np.ndarray) -> Plan:
    lines = np.array(walls)
    grid = map_around(lines)
    rooms = map_of_rooms([MARGIN + side * CORNERS], lines, grid)
    rooms[(rooms > 0) & (map_of_rooms([hole], lines, grid) > 0)] = WALL
    return Plan(f"{name} {side:g} m", lines, np.array(lights), rooms)
