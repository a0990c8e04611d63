"""Arenas full of corners, jambs, spikes and slabs, and the places in them where discs can start; in float64."""

from __future__ import annotations

import numpy as np

RADIUS = 0.106066  # metres, of a disc

Walls = np.ndarray  # (walls, 4) float64: x0, y0, x1, y1


def rectangle(x0: float, y0: float, x1: float, y1: float) -> list[tuple[float, float, float, float]]:
    """Four walls, one after the other."""
    return [(x0, y0, x1, y0), (x1, y0, x1, y1), (x1, y1, x0, y1), (x0, y1, x0, y0)]


BOX = np.array(rectangle(1.0, 1.0, 6.0, 6.0))


def arena(seed: int) -> Walls:
    """A room of 5 m with a slab and a door in it, an acute corner of two thin walls, and a turned column."""
    random = np.random.default_rng(seed)
    slab, door, thickness, gap = (random.uniform(*ends) for ends in ((2.5, 4.5), (2, 4), (0.1, 0.25), (0.25, 1.0)))
    walls = [*BOX, *rectangle(1.0, slab, door, slab + thickness), *rectangle(door + gap, slab, 6.0, slab + thickness)]
    start, corner = random.uniform(0.0, 2.0 * np.pi), np.array([3.5, 1.7])
    spikes = start, start + random.uniform(0.1, 1.0)
    walls += [(*corner, *(corner + 0.6 * np.array([np.cos(angle), np.sin(angle)]))) for angle in spikes]
    angles = np.linspace(0.0, 2.0 * np.pi, 5) + random.uniform(0.0, 1.0)
    column = np.array([4.8, 5.4]) + 0.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    walls += [(*column[i], *column[i + 1]) for i in range(4)]
    return np.array(walls).astype(np.float32).astype(np.float64)


def distances(walls: Walls, points: np.ndarray) -> np.ndarray:
    """From points (..., 2) to each wall: (..., walls)."""
    a, along = walls[:, :2], walls[:, 2:] - walls[:, :2]
    offset = points[..., None, :] - a
    t = np.clip((offset * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)
    return np.linalg.norm(offset - t[..., None] * along, axis=-1)


def places(walls: Walls, count: int, random: np.random.Generator) -> np.ndarray:
    """Where ``count`` discs touch neither a wall nor each other: (count, 2)."""
    chosen: list[np.ndarray] = []
    while len(chosen) < count:
        point = random.uniform(1.1, 5.9, 2)
        clear = distances(walls, point).min() > RADIUS + 1e-3
        if clear and all(np.linalg.norm(point - other) > 2 * RADIUS + 1e-3 for other in chosen):
            chosen.append(point)
    return np.array(chosen)


def stacked(arenas: list[Walls]) -> tuple[np.ndarray, np.ndarray]:
    """The walls of each arena, padded to those of the largest, and how many there are: (arenas, most, 4), (arenas,)."""
    counts = np.array([len(walls) for walls in arenas], dtype=np.int32)
    padded = np.zeros((len(arenas), counts.max(), 4), dtype=np.float32)
    for i, walls in enumerate(arenas):
        padded[i, : len(walls)] = walls
    return padded, counts
