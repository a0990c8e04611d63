"""Statistics of plans."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpworld.eyes.plans.constants import OUTSIDE
from warpworld.eyes.plans.plan import Plan


def statistics(plans: Sequence[Plan]) -> dict[str, tuple[float, float, float]]:
    """Least, mean and largest of what is counted and measured in plans: counts, metres, square metres."""
    lengths = [float(np.linalg.norm(plan.walls[:, 1] - plan.walls[:, 0], axis=1).sum()) for plan in plans]
    sides = [np.sort(np.ptp(plan.walls.reshape(-1, 2), axis=0)) for plan in plans]
    columns: dict[str, list[float]] = {
        "rooms": [plan.num_rooms for plan in plans],
        "wall lines": [len(plan.walls) for plan in plans],
        "length of walls, m": lengths,
        "longer side, m": [float(side[1]) for side in sides],
        "shorter side, m": [float(side[0]) for side in sides],
        "floor free of walls, m2": [float((p.rooms > OUTSIDE).sum() * p.resolution**2) for p in plans],
        "lights": [len(plan.lights) for plan in plans],
    }
    return {name: (min(values), float(np.mean(values)), max(values)) for name, values in columns.items()}
