"""Texels that can be seen from where agents start, beside lines of sight in float64."""

from __future__ import annotations

import numpy as np
import pytest

from warpworld.eyes.plans import PlanSet, box, column, find_sights, homes


def crosses(walls: np.ndarray, start: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(ends, walls) by how much lines from a place cross walls: above 0 they do, below they do not; 0 is unsure."""

    def side(a: np.ndarray, b: np.ndarray, p: np.ndarray) -> np.ndarray:
        (ax, ay), (bx, by), (px, py) = (np.moveaxis(each, -1, 0) for each in (a, b, p))
        return (bx - ax) * (py - ay) - (by - ay) * (px - ax)

    a, b, end = walls[None, :, 0], walls[None, :, 1], ends[:, None]
    length = np.linalg.norm(b - a, axis=-1)
    own = -side(a, b, start) * side(a, b, end) / length**2
    other = -side(start, end, a) * side(start, end, b) / length**2
    return np.minimum(own, other)


@pytest.mark.long
def test_texels_are_visible_where_a_line_of_sight_leads_to_some_cell() -> None:
    plans = PlanSet([column(), *homes(3, 2, (2, 3)), box()])
    found = np.unpackbits(find_sights(plans).view(np.uint8), axis=1, bitorder="little").astype(bool)
    rooms, texels = plans["room_first_cell"][plans["plan_first_room"]], plans["wall_first_texel"].astype(int)
    shares = []
    for plan, (begin, stop) in enumerate(zip(plans["plan_first_wall"], plans["plan_first_wall"][1:], strict=False)):
        walls = plans["plan_walls"][begin:stop].reshape(-1, 2, 2).astype(np.float64)
        cells = plans["plan_cells"][rooms[plan] : rooms[plan + 1]].astype(np.float64)
        first = texels[begin : stop + 1] - texels[begin]
        sure = 0
        for wall, (a, b) in enumerate(walls):
            others = np.delete(walls, wall, axis=0)
            for texel in range(first[wall], first[wall + 1], 7):
                middle = a + (texel - first[wall] + 0.5) / (first[wall + 1] - first[wall]) * (b - a)
                most = crosses(others, middle, cells).max(1)  # of any wall
                if (most < -1e-6).any() or (most > 1e-6).all():
                    assert found[plan, texel] == (most < -1e-6).any(), (plan, texel)
                    sure += 1
        assert sure > 0.95 * (first[-1] // 7)
        assert not found[plan, first[-1] :].any()
        shares.append(found[plan, : first[-1]].mean())
    assert shares[0] == shares[3] == 1.0
    assert 0.4 < shares[1] < 0.9  # outer sides of homes cannot be seen
