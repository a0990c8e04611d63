"""Single contacts in float64: when, found by halving, along which normal, and what is left of velocities."""

from __future__ import annotations

import numpy as np

from tests.eyes.arenas import RADIUS

CONTACT = RADIUS + 2e-5  # metres: contacts happen that much outside of the radius, as physics.cuh says


def nearest_points(walls: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The nearest point of wall i (draws, 4) to point i (draws, ..., 2): (draws, ..., 2)."""
    a, along = (
        part.reshape(len(walls), *[1] * (points.ndim - 2), 2) for part in (walls[:, :2], walls[:, 2:] - walls[:, :2])
    )
    t = np.clip(((points - a) * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)
    return a + t[..., None] * along


def first_time(
    offset: np.ndarray, velocity: np.ndarray, radius: float, seconds: float, wall: np.ndarray | None
) -> np.ndarray:
    """When points that move from ``offset`` first come within ``radius`` of the origin, or of a wall: (draws,).

    All of them do so within ``seconds``, and start outside.
    """

    def distance(times: np.ndarray) -> np.ndarray:
        points = offset[:, None] + times[..., None] * velocity[:, None]
        obstacle = 0.0 if wall is None else nearest_points(wall, points)
        return np.linalg.norm(points - obstacle, axis=-1)

    times = np.broadcast_to(np.linspace(0.0, seconds, 2001), (len(offset), 2001))
    touching = distance(times) <= radius
    assert touching.any(axis=1).all() and not touching[:, 0].any()
    last = touching.argmax(axis=1)
    low, high = (np.take_along_axis(times, at[:, None], 1)[:, 0] for at in (last - 1, last))
    for _ in range(45):
        middle = 0.5 * (low + high)
        outside = distance(middle[:, None])[:, 0] > radius
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return low


def against_walls(
    walls: np.ndarray, position: np.ndarray, velocity: np.ndarray, restitution: float, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Where disc i (draws, 2), which meets wall i (draws, 4) once, is after ``seconds``, and its velocity."""
    time = first_time(position, velocity, CONTACT, seconds, walls)[:, None]
    contact = position + time * velocity
    normal = contact - nearest_points(walls, contact)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    after = velocity - (1.0 + restitution) * (velocity * normal).sum(1, keepdims=True) * normal
    return contact + (seconds - time) * after, after


def against_each_other(
    position: np.ndarray, velocity: np.ndarray, restitution: float, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Where two discs of equal mass (draws, 2, 2), which meet once, are after ``seconds``, and their velocities."""
    offset, towards = (pair[:, 0] - pair[:, 1] for pair in (position, velocity))
    time = first_time(offset, towards, 2.0 * CONTACT, seconds, None)[:, None]
    normal = offset + time * towards
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    impulse = -0.5 * (1.0 + restitution) * (towards * normal).sum(1, keepdims=True) * normal
    after = velocity + np.stack([impulse, -impulse], axis=1)
    return position + time[..., None] * velocity + (seconds - time)[..., None] * after, after
