"""Megastep's rules at their limits: how far outside of a plan health is lost, and who pays for several hits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envs.deathmatch.fights import BOX, FOUR, made, place
from tests.envs.deathmatch.test_deathmatch_megastep import RULES, act


def fight(mends: str, **params: Any) -> Any:
    return made(1, **{**BOX, **RULES, **params}, megastep_mends=mends)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("at", "lost"), [(-0.9, 0.0), (-1.1, 0.05), (7.9, 0.0), (8.1, 0.05)])
def test_health_is_lost_from_a_metre_outside_of_the_plan_on(at: float, lost: float, axis: int) -> None:
    """The map of the box spans 7 m; each step costs 0.001 besides."""
    world, outside = fight("bounds"), [3.5, 3.5]
    outside[axis] = at
    place(world, [outside, [2.0, 2.0]], [90.0, 90.0])
    act(world)
    assert world.data.numpy("health")[0] == pytest.approx([0.999 - lost, 0.999], abs=1e-6)


def test_who_dies_by_several_hits_pays_for_each() -> None:
    """A hit is 1, and a life 20 to each whose shot was among those that took it."""
    world = fight("reward", **FOUR)
    place(world, [[3.5, 3.5], [2.0, 3.5], [5.0, 3.5], [3.5, 2.0]], [45.0, 0.0, -180.0, -90.0])
    world["health"][:, 0] = 0.08
    act(world)
    assert world.data.numpy("rewards").tolist() == [[-42.0, 21.0, 21.0, 0.0]]
    assert world.data.numpy("deaths").tolist() == [[1, 0, 0, 0]]
    assert world.data.numpy("kills").tolist() == [[0, 1, 1, 0]]
