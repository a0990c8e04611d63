"""Light on walls and floors, float64, by brute force."""

from __future__ import annotations

import numpy as np

from warpworld.eyes.plans import PlanSet


def hidden(light: np.ndarray, points: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each wall a-b is between the light and each point, and by how many metres it clears or cuts the way.

    Both (points, walls).
    """
    way = (points - light)[:, None]
    along = (b - a)[None]
    cross = way[..., 0] * along[..., 1] - way[..., 1] * along[..., 0]
    start = (a - light)[None]
    safe = np.where(np.abs(cross) < 1e-12, 1.0, cross)
    s = (start[..., 0] * along[..., 1] - start[..., 1] * along[..., 0]) / safe
    t = (start[..., 0] * way[..., 1] - start[..., 1] * way[..., 0]) / safe
    t = np.where(np.abs(cross) < 1e-12, np.inf, t)
    length = np.linalg.norm(along, axis=-1)
    margin = np.minimum(np.abs(t), np.abs(t - 1)) * length  # from the nearer end of the wall
    return (s > 0) & (s < 1) & (t > 0) & (t < 1), np.where((s > 0) & (s < 1), margin, np.inf)


def light_at(plans: PlanSet, plan: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Light at points (points, 2) of a plan, 0.1 to 1; and whether a ray grazes a wall's end or ends on a wall."""
    walls = plans["plan_walls"][slice(*plans["plan_first_wall"][plan : plan + 2])].astype(np.float64)
    lights = plans["plan_lights"][slice(*plans["plan_first_light"][plan : plan + 2])].astype(np.float64)
    a, b = walls[:, :2], walls[:, 2:]
    along = b - a
    offset = points[:, None] - a
    at = np.clip((offset * along).sum(-1) / (along**2).sum(-1), 0, 1)
    unsure = (np.linalg.norm(offset - at[..., None] * along, axis=-1) < 1e-4).any(1)
    total = np.full(len(points), 0.1)
    for x, y, intensity, _ in lights:
        blocked, margin = hidden(np.array([x, y]), points, a, b)
        total += ~blocked.any(1) * 2 * intensity / np.maximum(((points - [x, y]) ** 2).sum(1), 1)
        # As below: of walls that meet, one blocks the ray. What another one hides anyway is sure.
        unsure |= (margin < 1e-4).any(1) & ~(blocked & (margin > 1e-4)).any(1)
    return np.minimum(total, 1), unsure


def light_on(plans: PlanSet, plan: int, in_front: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Light on each texel of a plan, 0.1 to 1, and whether a ray grazes the end of a wall, so that it is a toss-up."""
    walls = plans["plan_walls"][slice(*plans["plan_first_wall"][plan : plan + 2])].astype(np.float64)
    lights = plans["plan_lights"][slice(*plans["plan_first_light"][plan : plan + 2])].astype(np.float64)
    firsts = plans["wall_first_texel"][plans["plan_first_wall"][plan] : plans["plan_first_wall"][plan + 1] + 1]
    a, b = walls[:, :2], walls[:, 2:]
    total, grazing = [], []
    for i, width in enumerate(np.diff(firsts)):
        at = ((np.arange(width) + 0.5) / width)[:, None]
        points = a[i] + at * (b[i] - a[i])
        normal = np.array([a[i, 1] - b[i, 1], b[i, 0] - a[i, 0]]) / np.linalg.norm(b[i] - a[i])
        sides = {1.0: np.full(width, 0.1), -1.0: np.full(width, 0.1)}
        unsure = np.zeros(width, dtype=bool)
        for x, y, intensity, _ in lights:
            light = np.array([x, y])
            distance = (light - a[i]) @ normal
            if abs(distance) <= in_front:
                continue
            side = float(np.sign(distance))
            shown = points + side * in_front * normal
            blocked, margin = hidden(light, shown, np.delete(a, i, 0), np.delete(b, i, 0))
            squared = ((light - shown) ** 2).sum(1)
            sides[side] += ~blocked.any(1) * 2 * intensity / np.maximum(squared, 1)
            # Between two walls that meet no light gets through: grazing both, a ray is blocked by one of them.
            unsure |= ((margin < 1e-4).sum(1) > 0) & (squared < 400)
        total.append(np.minimum(np.maximum(sides[1.0], sides[-1.0]), 1))
        grazing.append(unsure)
    return np.concatenate(total), np.concatenate(grazing)


def unpacked(texels: np.ndarray) -> np.ndarray:
    """Linear RGB of 0 to 1, (texels, 3)."""
    red, green, blue = texels & 2047, texels >> 11 & 2047, texels >> 22
    return np.stack([red / 2047, green / 2047, blue / 1023], -1)
