"""Walls and square cells: which walls cross, which cells a wall is near to, and what walls cut off.

A wall is a straight line between two points. Cells are those of a grid ``(rows, columns)``, row 0 at the bottom: cell
(i, j) covers [j, j + 1] x [i, i + 1] times the grid's resolution, from its origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TOLERANCE = 1e-4  # metres; walls that are so near to each other touch. Float32 at 100 m is exact to 8e-6.
MOST_PAIRS = 500_000  # of walls and cells that are looked at together, about, which bounds the memory that it takes


class Grid(NamedTuple):
    """Places of the cells of a plan.

    Attributes:
        rows, columns: how many.
        x, y: metres, the lowest corner of cell (0, 0).
        resolution: metres, side of a cell.
    """

    rows: int
    columns: int
    x: float
    y: float
    resolution: float

    def padded(self) -> Grid:
        """Return the grid with one more ring of cells around it."""
        step = self.resolution
        return Grid(self.rows + 2, self.columns + 2, self.x - step, self.y - step, step)


def crossings(walls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of walls that share more than a point at the end of one of them.

    Args:
        walls: (walls, 2, 2) float64, metres.

    Returns:
        (pairs, 2): walls that cross; (pairs, 2): walls that lie on each other. The lower index first.
    """
    start, end = walls[:, 0], walls[:, 1]
    length = np.linalg.norm(end - start, axis=1)
    along = (end - start) / length[:, None]
    # Of each end of wall j, in the frame of wall i: how far along it, and how far to the left of it.
    to_start, to_end = start[None] - start[:, None], end[None] - start[:, None]
    side_start = along[:, None, 0] * to_start[..., 1] - along[:, None, 1] * to_start[..., 0]
    side_end = along[:, None, 0] * to_end[..., 1] - along[:, None, 1] * to_end[..., 0]
    apart = (np.minimum(side_start, side_end) < -TOLERANCE) & (np.maximum(side_start, side_end) > TOLERANCE)
    crossing = np.argwhere(np.triu(apart & apart.T, 1))

    on_line = np.triu((np.abs(side_start) <= TOLERANCE) & (np.abs(side_end) <= TOLERANCE), 1)
    pairs = np.argwhere(on_line)
    first, second = pairs[:, 0], pairs[:, 1]
    at = np.stack([(along[first] * to[first, second]).sum(1) for to in (to_start, to_end)])
    shared = np.minimum(at.max(0), length[first]) - np.maximum(at.min(0), 0.0)
    return crossing, pairs[shared > 2 * TOLERANCE]


def cells_near(walls: np.ndarray, grid: Grid, distance: float) -> np.ndarray:
    """Cells of which some point is nearer to a wall than ``distance``.

    Args:
        walls: (walls, 2, 2) float64, metres.
        grid: the cells.
        distance: metres.

    Returns:
        (rows, columns) bool.
    """
    # the cells around each wall
    low = np.floor((walls.min(1) - distance - (grid.x, grid.y)) / grid.resolution).astype(np.int64)
    high = np.floor((walls.max(1) + distance - (grid.x, grid.y)) / grid.resolution).astype(np.int64) + 1
    limits = grid.columns, grid.rows
    low, high = np.clip(low, 0, limits), np.clip(high, 0, limits)
    # pairs of wall and cell, in shares that fit in memory
    spans = high - low
    cells = np.zeros((grid.rows, grid.columns), dtype=bool)
    share = np.cumsum(spans.prod(1)) // MOST_PAIRS
    for number in np.unique(share):
        some = share == number
        wall, place = _repeated(spans[some].prod(1))
        start, end = walls[some][wall, 0], walls[some][wall, 1]
        row, column = (low[some][wall, ::-1] + np.stack(np.divmod(place, spans[some][wall, 0]), -1)).T
        corner = np.stack([grid.x + column * grid.resolution, grid.y + row * grid.resolution], -1)
        near = _square_to_segment(corner, grid.resolution, start, end) < distance
        cells[row[near], column[near]] = True
    return cells


def _repeated(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each index as often as ``counts`` says, and the number of each repetition."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def _square_to_segment(corner: np.ndarray, side: float, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Distance of squares, each by its lowest corner, from segments; all (pairs, 2), the distances (pairs,)."""
    gap = np.maximum(np.maximum(corner - np.maximum(start, end), np.minimum(start, end) - corner - side), 0.0)
    distance = np.hypot(gap[:, 0], gap[:, 1])  # from the segment's bounding box: exact where it is upright or level
    slanted = np.flatnonzero((start != end).all(1))
    if len(slanted):
        distance[slanted] = _square_to_slanted(corner[slanted], side, start[slanted], end[slanted])
    return distance


def _square_to_slanted(corner: np.ndarray, side: float, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    corners = corner[:, None] + side * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    along, to = (end - start)[:, None], corners - start[:, None]
    at = np.clip((to * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)
    from_corners = np.linalg.norm(to - at[..., None] * along, axis=-1).min(1)
    from_ends = np.minimum(*(np.linalg.norm(_outside(corner, side, point), axis=-1) for point in (start, end)))
    # They meet where the square has corners on both sides of the line, and the bounding boxes overlap.
    turn = along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0]
    boxes = (np.maximum(start, end) >= corner) & (np.minimum(start, end) <= corner + side)
    meet = (turn.min(1) <= 0) & (turn.max(1) >= 0) & boxes.all(1)
    return np.where(meet, 0.0, np.minimum(from_corners, from_ends))


def _outside(corner: np.ndarray, side: float, point: np.ndarray) -> np.ndarray:
    """Distances of points beyond a square, along both axes; 0 within."""
    return np.maximum(np.maximum(corner - point, point - corner - side), 0.0)


class Steps:
    """Steps between the centres of neighbouring cells that walls leave free.

    A disc that is wider than a cell cannot pass where no such step does, but for gaps in slanted walls of less than 1.5
    cells.

    Args:
        walls: (walls, 2, 2) float64, metres.
        grid: the cells.

    Attributes:
        right: (rows, columns - 1) bool, from cell (i, j) to (i, j + 1) and back.
        up: (rows - 1, columns) bool, from cell (i, j) to (i + 1, j) and back.
    """

    def __init__(self, walls: np.ndarray, grid: Grid) -> None:
        # In units of cells, the centre of cell (i, j) being (j, i).
        scaled = (walls - (grid.x, grid.y)) / grid.resolution - 0.5
        self.right = _free_steps(scaled, grid.rows, grid.columns)
        self.up = _free_steps(scaled[..., ::-1], grid.columns, grid.rows).T

    def reached_from(self, start: np.ndarray) -> np.ndarray:
        """Cells that steps lead to from some of ``start``, (rows, columns) bool; those themselves are among them."""
        reached, count = start.copy(), 0
        while count != (count := int(np.count_nonzero(reached))):
            reached[:, 1:] |= reached[:, :-1] & self.right
            reached[:, :-1] |= reached[:, 1:] & self.right
            reached[1:] |= reached[:-1] & self.up
            reached[:-1] |= reached[1:] & self.up
        return reached


def _free_steps(scaled: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Whether no wall meets a step along a row: (rows, columns - 1) bool."""
    # rows that each wall crosses
    slack = 1e-6
    order = np.argsort(scaled[..., 1], axis=1)[..., None]
    bottom, top = np.moveaxis(np.take_along_axis(scaled, order, 1), 1, 0)
    first = np.clip(np.ceil(bottom[:, 1] - slack), 0, rows).astype(np.int64)
    last = np.clip(np.floor(top[:, 1] + slack), -1, rows - 1).astype(np.int64)
    # the point at which it crosses each
    wall, place = _repeated(np.maximum(last - first + 1, 0))
    row = first[wall] + place
    rise = top[wall, 1] - bottom[wall, 1]
    level = rise < slack
    at = np.clip((row - bottom[wall, 1]) / np.where(level, 1.0, rise), 0.0, 1.0)
    x = bottom[wall, 0] + at * (top[wall, 0] - bottom[wall, 0])
    # steps that walls cross
    free = np.ones((rows, columns - 1), dtype=bool)
    for step in (np.floor(x - slack), np.floor(x + slack)):  # both, where a wall passes through a centre
        inside = (step >= 0) & (step < columns - 1) & ~level
        free[row[inside], step[inside].astype(np.int64)] = False
    for i in np.flatnonzero(level):  # along the row itself
        low, high = sorted((bottom[wall[i], 0], top[wall[i], 0]))
        free[row[i], max(int(np.floor(low)), 0) : max(int(np.ceil(high)), 0)] = False
    return free
