"""Discs at their limits: as many contacts as a step has, heaps of discs, two at one place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.eyes.arenas import BOX, RADIUS, distances
from tests.eyes.discs import SECONDS, moved

MOST_CONTACTS = 8  # of a step, as physics.cuh says
SPAN = 5.0 - 2.0 * RADIUS  # metres that a disc's middle has between two walls of the box


def thrown(contacts: float) -> dict[str, np.ndarray]:
    """A step of a disc that rebounds between the left and the right wall, from the middle, so many times."""
    way = SPAN * contacts
    return moved([BOX], [[[3.5, 3.0]]], [[[way / SECONDS, 0.0]]], restitution=1.0)


@pytest.mark.parametrize("contacts", range(MOST_CONTACTS))
def test_a_disc_rebounds_as_often_as_it_meets_a_wall(contacts: int) -> None:
    """From the middle by so many spans: it is in the middle again."""
    after = thrown(contacts)
    assert after["position"][0, 0] == pytest.approx([3.5, 3.0], abs=1e-3)
    speed = SPAN * contacts / SECONDS
    assert after["velocity"][0, 0] == pytest.approx([speed * (-1.0) ** contacts, 0.0], rel=1e-5)


@pytest.mark.parametrize("contacts", [MOST_CONTACTS, MOST_CONTACTS + 3])
def test_a_disc_stops_at_the_eighth_contact_of_a_step(contacts: int) -> None:
    after = thrown(contacts)
    assert after["position"][0, 0] == pytest.approx([1.0 + RADIUS, 3.0], abs=1e-3)  # the left wall's fourth
    assert not after["velocity"].any()
    assert after["touched"].all()


@pytest.mark.parametrize("places", [[[3.0, 3.0]] * 2, [[3.0, 3.0]] * 2 + [[5.0, 5.0]]], ids=["two", "and another"])
def test_two_discs_at_one_place_part(places: list[list[float]]) -> None:
    after = moved([BOX], [places], np.zeros((1, len(places), 2)))["position"][0]
    assert np.linalg.norm(after[0] - after[1]) >= 2.0 * RADIUS - 1e-6
    assert after[:2].mean(0) == pytest.approx([3.0, 3.0], abs=1e-6)


def test_a_heap_of_discs_pushes_nobody_through_a_wall() -> None:
    """The one at the wall is pushed by all others at once, by more than it has room for."""
    start = [[1.0 + RADIUS + 1e-3, 3.0], *([1.0 + RADIUS + 0.01 + 0.004 * i, 3.0] for i in range(5))]
    after = moved([BOX], [start], np.zeros((1, 6, 2)))["position"][0].astype(np.float64)
    assert (after[:, 0] > 1.0).all()
    assert distances(BOX, after).min() >= RADIUS - 1e-6


def test_a_disc_in_a_corner_is_pushed_out_of_both_walls() -> None:
    """One after the other, from where neither wall alone would be left clear of the other."""
    after = moved([BOX], [[[1.02, 1.05]]], np.zeros((1, 1, 2)))["position"][0].astype(np.float64)
    assert distances(BOX, after).min() >= RADIUS - 1e-6
    assert (after > 1.0).all() and (after < 1.5).all()
