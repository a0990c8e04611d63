"""The light on floors between nodes, and the colours of those who stand in it, in float64."""

from __future__ import annotations

import numpy as np

from warpworld.eyes.plans import PlanSet

DARK, GREEN, RED = (0.25, 0.25, 0.25), (0.0, 0.5, 0.0), (1.0, 0.0, 0.0)
FACET_COLOURS = np.array([DARK, GREEN, DARK, RED, DARK, RED, DARK, GREEN])  # the right side first, round to the left


def bilinear(plans: PlanSet, plan: int, places: np.ndarray) -> np.ndarray:
    """The light on a plan's floor at places (places, 2), in float64."""
    first, columns, rows, _ = plans["plan_floor"][plan].tolist()
    nodes = plans["floor_light"][first : first + columns * rows].reshape(rows, columns) / 255.0
    x, y = np.clip(places.astype(np.float64) / 0.25, 0, [columns - 1, rows - 1]).T
    column_, row = np.minimum(x.astype(int), columns - 2), np.minimum(y.astype(int), rows - 2)
    corners = [
        nodes[row + up, column_ + right] * np.abs(1 - up - (y - row)) * np.abs(1 - right - (x - column_))
        for up in (0, 1)
        for right in (0, 1)
    ]
    return np.sum(corners, axis=0)
