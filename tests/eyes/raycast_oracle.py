"""What cameras see by brute force, every ray against every line, in float64."""

from __future__ import annotations

import dataclasses

import numpy as np

FACETS = 8
# Corners of an agent's body one metre wide whose front is x = 0.5; facet i goes from corner i to corner i + 1.
CORNERS = 0.5 * np.array([(-0.5, -1), (0.5, -1), (1, -0.5), (1, 0.5), (0.5, 1), (-0.5, 1), (-1, 0.5), (-1, -0.5)])


@dataclasses.dataclass
class Seen:
    """For each ray: what it meets, (rays,) each.

    Attributes:
        object: -1, an agent, or the number of agents and then the wall.
        facet: of an agent, else -1.
        depth: metres, inf where there is nothing.
        along: place on the line, 0 .. 1.
        facing: squared cosine of the angle to the line's normal.
        margin: how far, in radians, the ray is from an end of any line.
    """

    object: np.ndarray
    facet: np.ndarray
    depth: np.ndarray
    along: np.ndarray
    facing: np.ndarray
    margin: np.ndarray


def bodies(position: np.ndarray, angle: np.ndarray, width: float) -> np.ndarray:
    """The facets of agents (agents, 2), (agents,): (agents, 8, 4)."""
    turn = np.stack([np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)], -1).reshape(-1, 2, 2)
    corners = position[:, None] + width * CORNERS @ turn
    return np.concatenate([corners, np.roll(corners, -1, axis=1)], axis=-1)


def look(
    walls: np.ndarray, position: np.ndarray, angle: np.ndarray, self: int, rays: int, fov: float, width: float
) -> Seen:
    """What agent ``self`` sees among ``walls`` (walls, 4) and the other agents, with ``fov`` in degrees."""
    agents = len(position)
    lines = np.concatenate([bodies(position, angle, width).reshape(-1, 4), walls])
    number = np.arange(len(lines))
    kept = (number >= FACETS * agents) | (number // FACETS != self)
    lines, number = lines[kept], number[kept]
    across = np.tan(np.radians(fov) / 2) * (rays - 2 * np.arange(rays) - 1) / rays
    cosine, sine = np.cos(angle[self]), np.sin(angle[self])
    ray = np.stack([cosine - sine * across, sine + cosine * across], axis=1)  # (rays, 2)
    a, along = lines[:, :2] - position[self], lines[:, 2:] - lines[:, :2]
    with np.errstate(all="ignore"):
        between = ray[:, None, 0] * along[:, 1] - ray[:, None, 1] * along[:, 0]
        depth = (a[:, 0] * along[:, 1] - a[:, 1] * along[:, 0]) / between
        t = (a[:, 0] * ray[:, None, 1] - a[:, 1] * ray[:, None, 0]) / between
    depth = np.where((depth > 0) & (t >= 0) & (t <= 1), depth, np.inf)
    nearest, rows = depth.argmin(axis=1), np.arange(rays)
    found = np.isfinite(depth[rows, nearest])
    metres = depth[rows, nearest] * np.hypot(1.0, across)
    chosen = np.where(found, number[nearest], -1)
    normal = np.stack([-along[:, 1], along[:, 0]], 1) / np.linalg.norm(along, axis=1)[:, None]
    cosines = (normal[nearest] * ray).sum(1) / np.hypot(1.0, across)
    is_agent = (chosen >= 0) & (chosen < FACETS * agents)
    ends = np.concatenate([a, lines[:, 2:] - position[self]])
    to_ends = np.arctan2(ends[:, 1], ends[:, 0]) - np.arctan2(ray[:, None, 1], ray[:, None, 0])
    return Seen(
        object=np.where(is_agent, chosen // FACETS, np.where(found, chosen - (FACETS - 1) * agents, -1)),
        facet=np.where(is_agent, chosen % FACETS, -1),
        depth=metres,
        along=np.where(found, t[rows, nearest], 0.0),
        facing=np.where(found, cosines**2, 0.0),
        margin=np.abs((to_ends + np.pi) % (2 * np.pi) - np.pi).min(axis=1),
    )
