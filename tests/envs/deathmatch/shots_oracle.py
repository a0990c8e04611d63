"""Who has whom in sight and what shots hit, by brute force in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.eyes.arenas import RADIUS

EDGE = 2e-4  # metres: what is closer to being otherwise is not compared


class Shots(NamedTuple):
    """Of one env: (agents, agents) whether one sees another; (agents,) whom shots hit, -1 none; and what is sure."""

    in_sight: np.ndarray
    hit: np.ndarray
    sure_sight: np.ndarray
    sure_hit: np.ndarray


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def sight(walls: np.ndarray, p: np.ndarray, q: np.ndarray) -> tuple[bool, bool]:
    """Whether no wall (walls, 4) is between two places, and whether no wall ends close to the line."""
    a, along, way = walls[:, :2], walls[:, 2:] - walls[:, :2], q - p
    across = cross(np.broadcast_to(way, along.shape), along)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = cross(a - p, along) / across, cross(a - p, np.broadcast_to(way, along.shape)) / across
    met = (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    ends = walls.reshape(-1, 2)
    foot = np.clip(((ends - p) @ way) / (way @ way), 0.0, 1.0)
    return not met.any(), bool(np.linalg.norm(ends - p - foot[:, None] * way, axis=1).min() > EDGE)


def shots(walls: np.ndarray, positions: np.ndarray, angles: np.ndarray, cone: float, reach: float) -> Shots:
    """If everybody fires: positions (agents, 2) metres, angles (agents,) and cone degrees, reach metres."""
    count = len(positions)
    in_sight, sure_sight = np.zeros((count, count), bool), np.ones((count, count), bool)
    hit, sure_hit = np.full(count, -1), np.ones(count, bool)
    for i in range(count):
        nearest = np.inf
        for j in (j for j in range(count) if j != i):
            in_sight[i, j], sure_sight[i, j] = sight(walls, positions[i], positions[j])
            offset = positions[j] - positions[i]
            distance = np.hypot(*offset)
            off = np.abs((np.degrees(np.arctan2(offset[1], offset[0])) - angles[i] + 180.0) % 360.0 - 180.0)
            beside = distance * np.sin(np.radians(off - cone))  # of the disc's middle, from the edge of the cone
            could = off < 90.0 and beside <= RADIUS and distance <= reach
            at_edge = min(abs(beside - RADIUS), abs(distance - reach), abs(off - 90.0)) < EDGE
            sure_hit[i] &= not at_edge and (sure_sight[i, j] or not could)
            if could and in_sight[i, j] and distance < nearest:
                nearest, hit[i] = distance, j
    return Shots(in_sight, hit, sure_sight, sure_hit)
