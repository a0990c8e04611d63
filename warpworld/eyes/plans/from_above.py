"""Draws a floor plan from above."""

from __future__ import annotations

import numpy as np

from warpworld.drawing import Discs, Drawing, Image, Segments, rgb
from warpworld.eyes.plans.constants import OUTSIDE
from warpworld.eyes.plans.plan import Plan

FLOORS = ("#efe4d2", "#d9e7ee", "#e8e0f0", "#dcebd6", "#f3ded6", "#e4e5de", "#f2ebc4", "#d5e8e2")  # by room
PAPER, SLAB, LAMP = "#ffffff", "#4a4f55", "#f2b233"
LINE_WIDTH = 0.05  # metres
EDGE = 0.3  # metres of paper around
PIXEL = 0.05  # metres


def draw_plan(plan: Plan) -> Drawing:
    """Floors coloured by room, walls (what is solid by their outlines is filled), and a disc for each light."""
    left, bottom = plan.walls.reshape(-1, 2).min(0).tolist()
    right, top = plan.walls.reshape(-1, 2).max(0).tolist()
    x, y, to_x, to_y = plan.walls.reshape(-1, 4).T
    marks = [
        _surfaces(plan),
        Segments(x, y, to_x, to_y, outline=SLAB, line_width=LINE_WIDTH),
        Discs(plan.lights[:, 0], plan.lights[:, 1], 0.08 + 0.06 * plan.lights[:, 2], fill=LAMP),
    ]
    return Drawing((left - EDGE, bottom - EDGE, right + EDGE, top + EDGE), marks)


def _surfaces(plan: Plan) -> Image:
    """Floors and what is solid, as pixels."""
    grid = plan.grid
    width, height = grid.columns * grid.resolution, grid.rows * grid.resolution
    columns, rows = round(width / PIXEL), round(height / PIXEL)
    rooms = _under_walls(plan)
    row = np.minimum((np.arange(rows) + 0.5) * PIXEL / grid.resolution, grid.rows - 1).astype(int)
    column = np.minimum((np.arange(columns) + 0.5) * PIXEL / grid.resolution, grid.columns - 1).astype(int)
    chosen = np.where(rooms > 0, (rooms - 1) % len(FLOORS) + 1, 0)[np.ix_(row, column)]
    chosen[_solid(plan, rows, columns)] = len(FLOORS) + 1
    colours = np.array([rgb(colour) for colour in (PAPER, *FLOORS, SLAB)], dtype=np.uint8)
    return Image(grid.x, grid.y, width, height, pixels=colours[chosen][::-1], on_paper=True)


def _under_walls(plan: Plan) -> np.ndarray:
    """The map of rooms, with the cells in walls given to a room beside them, but for those at the outside."""
    rooms = plan.rooms.astype(int)
    at_outside = (_beside(rooms) == OUTSIDE).any(0)
    for _ in range(2):
        rooms = np.where((rooms < 0) & ~at_outside, _beside(rooms).max(0), rooms)
    return rooms


def _beside(rooms: np.ndarray) -> np.ndarray:
    """The four neighbours of each cell, (4, rows, columns)."""
    padded = np.pad(rooms, 1, constant_values=OUTSIDE)
    return np.stack([padded[1:-1, 2:], padded[1:-1, :-2], padded[2:, 1:-1], padded[:-2, 1:-1]])


def _solid(plan: Plan, rows: int, columns: int) -> np.ndarray:
    """Pixels between two walls that both have their right side, where a slab is solid, towards them."""
    walls = (plan.walls.astype(np.float64) - plan.origin) / PIXEL - 0.5
    met = []
    for (x0, y0), (x1, y1) in walls:
        row = np.arange(max(int(np.ceil(min(y0, y1))), 0), min(int(np.ceil(max(y0, y1))), rows))
        if len(row):
            x = x0 + (row - y0) / (y1 - y0) * (x1 - x0)
            met.append(np.stack([row, np.clip(x, 0, columns - 1), np.full(len(row), 1.0 if y1 > y0 else -1.0)]))
    crossed = np.concatenate(met, axis=1)
    row, x, up = crossed[:, np.argsort(crossed[1], kind="stable")]
    nearest_left, nearest_right = np.zeros((2, rows, columns))
    nearest_left[row.astype(int), np.ceil(x).astype(int)] = up
    nearest_right[row[::-1].astype(int), np.floor(x[::-1]).astype(int)] = up[::-1]
    return (_carried_on(nearest_left) > 0) & (_carried_on(nearest_right[:, ::-1])[:, ::-1] < 0)


def _carried_on(values: np.ndarray) -> np.ndarray:
    """Each row with its zeros replaced by what was there last."""
    last = np.maximum.accumulate(np.where(values != 0, np.arange(values.shape[1]), 0), axis=1)
    return np.take_along_axis(values, last, axis=1)
