"""Numbers at which plans change: the shortest wall, the length of a texel, doors between two rooms."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from warpworld.errors import PlanError
from warpworld.eyes.plans import Plan, PlanSet, box
from warpworld.eyes.plans.generator import _draw
from warpworld.eyes.plans.geometry import TOLERANCE


def with_wall_of(length: float) -> Plan:
    room = box()
    walls = np.concatenate([room.walls, [[[2.0, 2.0], [2.0 + length, 2.0]]]])
    return Plan("hut", walls, room.lights, room.rooms)


def test_a_wall_whose_ends_touch_has_no_length() -> None:
    """Within a tenth of a millimetre two points are the same to a plan, so that both ends of such a wall are."""
    assert len(with_wall_of(3.0 * TOLERANCE).walls) == 5
    with pytest.raises(PlanError, match=r"wall 4 \(2\.00, 2\.00\)-\(2\.00, 2\.00\) has no length; leave it out"):
        with_wall_of(1.5 * TOLERANCE)


@pytest.mark.parametrize(("side", "texels"), [(5.0, 50), (5.00005, 50), (5.0002, 51)])
def test_a_texel_may_be_longer_by_a_thousandth(side: float, texels: int) -> None:
    assert np.diff(PlanSet([box(side)], texel=0.1)["wall_first_texel"]).tolist() == [texels] * 4


def test_two_rooms_are_joined_by_one_door() -> None:
    """Also where they share several lines, as rooms of two rectangles may."""
    several = 0
    for seed in range(150):
        home = _draw(np.random.default_rng(seed), 6, 70.0)
        if home is None:
            continue
        lines = [tuple(sorted((home.rooms[line.first], home.rooms[line.second]))) for line in home.lines]
        doors = [tuple(sorted((home.rooms[line.first], home.rooms[line.second]))) for line, _, _ in home.doors]
        several += sum(count > 1 for (one, other), count in Counter(lines).items() if one != other)
        assert max(Counter(doors).values()) == 1
    assert several > 20
