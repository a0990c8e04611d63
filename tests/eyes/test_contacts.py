"""What contacts make of velocities, against float64: of a disc with a wall or its end, and of two discs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.eyes.arenas import BOX
from tests.eyes.contact_oracle import CONTACT, against_each_other, against_walls
from tests.eyes.discs import SECONDS, moved

DRAWS = 100
RESTITUTIONS = [0.0, 0.25, 0.7, 1.0]
FAR = BOX + 1000.0  # walls that nobody meets


def unit(angle: np.ndarray) -> np.ndarray:
    """Vectors of length 1 at these angles, radians: (draws, 2)."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def single(draws: np.ndarray) -> np.ndarray:
    """In float64, what float32 makes of them."""
    return draws.astype(np.float32).astype(np.float64)


def flights(random: np.random.Generator, count: int, steepest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles to the normal of a contact, radians; metres flown until then, and in the whole step."""
    way = random.uniform(0.02, 0.6, count)
    return np.radians(random.uniform(-steepest, steepest, count)), way, way / random.uniform(0.1, 0.9, count)


def on_insides(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Walls, and where discs start with which velocity, to meet them between their ends."""
    middle, turn = random.uniform(2.0, 5.0, (DRAWS, 2)), random.uniform(0.0, 2.0 * np.pi, DRAWS)
    half = random.uniform(0.5, 1.5, DRAWS)[:, None] * unit(turn)
    normal = unit(turn + random.choice([-0.5, 0.5], DRAWS) * np.pi)
    angle, way, whole = flights(random, DRAWS, 80.0)
    heading = unit(np.arctan2(-normal[:, 1], -normal[:, 0]) + angle)
    foot = middle + random.uniform(-0.8, 0.8, (DRAWS, 1)) * half
    start = foot + CONTACT * normal - way[:, None] * heading
    return np.hstack([middle - half, middle + half]), start, (whole / SECONDS)[:, None] * heading


def on_ends(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, to meet the first end of a wall from beyond it."""
    end, turn = random.uniform(2.0, 5.0, (3 * DRAWS, 2)), random.uniform(0.0, 2.0 * np.pi, 3 * DRAWS)
    outward = unit(turn)
    normal = unit(turn + np.radians(random.uniform(-80.0, 80.0, 3 * DRAWS)))
    angle, way, whole = flights(random, 3 * DRAWS, 70.0)
    heading = unit(np.arctan2(-normal[:, 1], -normal[:, 0]) + angle)
    start = end + CONTACT * normal - way[:, None] * heading
    beyond = np.flatnonzero(((start - end) * outward).sum(1) > 0.01)[:DRAWS]
    assert len(beyond) == DRAWS
    walls = np.hstack([end, end - random.uniform(0.5, 2.0, (3 * DRAWS, 1)) * outward])
    return walls[beyond], start[beyond], ((whole / SECONDS)[:, None] * heading)[beyond]


@pytest.mark.parametrize("restitution", RESTITUTIONS)
@pytest.mark.parametrize("draw", [on_insides, on_ends])
def test_a_wall_throws_back_what_goes_into_it(draw: Callable[..., tuple[np.ndarray, ...]], restitution: float) -> None:
    walls, start, velocity = (single(drawn) for drawn in draw(np.random.default_rng(11)))
    places, velocities = against_walls(walls, start, velocity, restitution, SECONDS)
    arenas = [np.vstack([wall, FAR[1:]]) for wall in walls]
    after = moved(arenas, start[:, None], velocity[:, None], restitution=restitution)
    assert after["touched"].all()
    compare(after["position"][:, 0], places, after["velocity"][:, 0], velocities, velocity)


@pytest.mark.parametrize("restitution", RESTITUTIONS)
def test_two_discs_share_what_goes_into_each_other(restitution: float) -> None:
    random = np.random.default_rng(12)
    normal = unit(random.uniform(0.0, 2.0 * np.pi, DRAWS))  # from the second one to the first
    angle, way, whole = flights(random, DRAWS, 70.0)
    towards = (whole / SECONDS)[:, None] * unit(np.arctan2(-normal[:, 1], -normal[:, 0]) + angle)
    of_both = random.normal(0.0, 5.0, (DRAWS, 2))
    velocity = single(np.stack([of_both + towards, of_both], axis=1))
    meeting = random.uniform(2.0, 5.0, (DRAWS, 1, 2)) + np.stack([CONTACT * normal, -CONTACT * normal], axis=1)
    start = single(meeting - (way / whole * SECONDS)[:, None, None] * velocity)
    places, velocities = against_each_other(start, velocity, restitution, SECONDS)
    after = moved([FAR] * DRAWS, start, velocity, restitution=restitution)
    assert after["touched"].all()
    compare(after["position"], places, after["velocity"], velocities, velocity)


def compare(
    position: np.ndarray, places: np.ndarray, velocity: np.ndarray, velocities: np.ndarray, before: np.ndarray
) -> None:
    """Velocities to a ten-thousandth of the fastest one before, and places to as much of the way that it goes."""
    speed = np.linalg.norm(before, axis=-1).reshape(len(before), -1).max(axis=1)
    speed = speed.reshape(-1, *[1] * (velocity.ndim - 1))
    assert (np.abs(velocity - velocities) <= 1e-4 * speed).all()
    assert (np.abs(position - places) <= 1e-4 * speed * SECONDS + 2e-6).all()
