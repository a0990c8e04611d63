"""The outlines of what some polygons cover and others cut out.

All edges are cut where they meet; of the pieces, those between solid and free are kept. Polygons may overlap, share
edges and be concave.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from warpworld.eyes.plans.room_map import contains

SNAP = 5e-4  # metres: points that are nearer to each other are one, points nearer to an edge are on it
SPIKE = -0.98  # cosine of the turn at a corner, which would move too far
PROBE = 1e-3  # metres beside an edge, where it is asked what is solid; what is thinner is lost


def slab_outlines(solid: Sequence[np.ndarray], openings: Sequence[np.ndarray]) -> np.ndarray:
    """The outlines of the polygons ``solid`` without ``openings``, the free space on the left.

    Args:
        solid: corners in order, each (corners, 2) metres.
        openings: likewise.

    Returns:
        (walls, 2, 2) float64, metres; pieces in one line are joined.
    """
    edges = np.concatenate([np.stack([p, np.roll(p, -1, axis=0)], 1) for p in (*solid, *openings)])
    pieces = _pieces(edges[np.linalg.norm(edges[:, 1] - edges[:, 0], axis=1) > 2 * SNAP])
    middle, along = pieces.mean(1), pieces[:, 1] - pieces[:, 0]
    left = PROBE * np.stack([-along[:, 1], along[:, 0]], -1) / np.linalg.norm(along, axis=1)[:, None]
    solid_left, solid_right = (_is_solid(middle + side, solid, openings) for side in (left, -left))
    turned = np.where(solid_left[:, None, None], pieces[:, ::-1], pieces)
    return _joined(turned[solid_left != solid_right])


def grown(polygon: np.ndarray, by: float) -> np.ndarray:
    """A convex polygon with all sides moved outwards; one that is concave, or has a spike, as it is.

    Args:
        polygon: (corners, 2) metres, either way round.
        by: metres.
    """
    corners = polygon[np.linalg.norm(polygon - np.roll(polygon, 1, axis=0), axis=1) > SNAP]
    along = np.roll(corners, -1, axis=0) - corners
    along /= np.linalg.norm(along, axis=1)[:, None]
    before = np.roll(along, 1, axis=0)
    turn = before[:, 0] * along[:, 1] - before[:, 1] * along[:, 0]
    ahead = (before * along).sum(1)
    bends = (np.abs(turn) > 1e-6) | (ahead < 0)
    if not bends.all():  # corners within a straight side
        return grown(corners[bends], by)
    if len(corners) < 3 or not ((turn > 0).all() or (turn < 0).all()) or ahead.min() < SPIKE:
        return polygon
    return corners + by * (before - along) / np.abs(turn)[:, None]


def _is_solid(points: np.ndarray, solid: Sequence[np.ndarray], openings: Sequence[np.ndarray]) -> np.ndarray:
    covered, cut = (
        np.any([np.zeros(len(points), bool), *(contains(polygon, points) for polygon in polygons)], axis=0)
        for polygons in (solid, openings)
    )
    return covered & ~cut


class _Points:
    """Points by number, those that are nearer than SNAP to an earlier one being that one."""

    def __init__(self) -> None:
        self.places: list[np.ndarray] = []
        self._in_cell: dict[tuple[int, int], list[int]] = {}

    def number(self, point: np.ndarray) -> int:
        """Number of a point, (2,); a new point is added."""
        x, y = np.floor(point / SNAP).astype(int).tolist()
        for cell in ((x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
            for known in self._in_cell.get(cell, ()):
                if np.hypot(*(self.places[known] - point)) < SNAP:
                    return known
        self._in_cell.setdefault((x, y), []).append(len(self.places))
        self.places.append(point)
        return len(self.places) - 1


def _pieces(edges: np.ndarray) -> np.ndarray:
    """The edges cut where others meet them, each piece once, (pieces, 2, 2)."""
    points = _Points()
    for corner in edges[:, 0]:  # first, so that they stay where they are
        points.number(corner)
    found = {}
    for start, end in edges:
        numbers = [points.number(start + cut * (end - start)) for cut in _cuts(start, end, edges)]
        for a, b in itertools.pairwise(numbers):
            if a != b:
                found[min(a, b), max(a, b)] = (points.places[a], points.places[b])
    return np.array(list(found.values())).reshape(-1, 2, 2)


def _cuts(start: np.ndarray, end: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Places on the way from start to end, 0 to 1, where other edges meet it; 0 and 1 are among them, in order."""
    way = end - start
    length = float(np.hypot(*way))
    normal = np.array([-way[1], way[0]]) / length
    offset = edges - start
    at, aside = offset @ way / length**2, offset @ normal  # of both ends of the edges
    on_line = np.abs(aside) < SNAP
    ends_here = at[on_line]
    across = (aside[:, 0] * aside[:, 1] < 0) & ~on_line.any(1)  # where one edge lies on another, they cross anywhere
    share = aside[across, 0] / (aside[across, 0] - aside[across, 1])
    crossing = at[across, 0] + share * (at[across, 1] - at[across, 0])
    cuts = np.concatenate([ends_here, crossing])
    return np.unique(np.concatenate([[0.0], cuts[(cuts > 0) & (cuts < 1)], [1.0]]))


def _joined(pieces: np.ndarray) -> np.ndarray:
    """Joins pieces that continue straight ahead, where nothing else meets the point between them."""
    # pieces that begin and end at a point
    starts: dict[tuple[float, ...], list[int]] = {}
    ends: dict[tuple[float, ...], list[int]] = {}
    for i, (start, end) in enumerate(pieces.tolist()):
        starts.setdefault(tuple(start), []).append(i)
        ends.setdefault(tuple(end), []).append(i)
    # pairs that continue straight ahead
    onward = {}
    for point, leaving in starts.items():
        arriving = ends.get(point, [])
        if len(leaving) == len(arriving) == 1 and _is_straight(pieces[arriving[0]], pieces[leaving[0]]):
            onward[arriving[0]] = leaving[0]
    # walls, from pieces that continue none
    walls = []
    for first in sorted(set(range(len(pieces))) - set(onward.values())):
        last = first
        while last in onward:
            last = onward[last]
        walls.append((pieces[first, 0], pieces[last, 1]))
    return np.array(walls).reshape(-1, 2, 2)


def _is_straight(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether the second piece continues the first in its direction."""
    one, other = first[1] - first[0], second[1] - second[0]
    turn = abs(one[0] * other[1] - one[1] * other[0]) / np.hypot(*(one + other))
    return bool(one @ other > 0 and turn < 2 * SNAP)
