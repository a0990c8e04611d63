"""A plan refuses what is impossible, naming walls and places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpworld.errors import PlanError
from warpworld.eyes.plans import MAX_WALLS, Plan, box, column

SQUARE = [[[1, 1], [3, 1]], [[3, 1], [3, 3]], [[3, 3], [1, 3]], [[1, 3], [1, 1]]]
ROOMS = np.zeros((20, 20), dtype=int)
ROOMS[5:15, 5:15] = 1


def plan(**changes: Any) -> Plan:
    return Plan(**{"name": "hut", "walls": SQUARE, "lights": [[2, 2, 1]], "rooms": ROOMS, **changes})


def with_wall(*ends: Any) -> dict[str, Any]:
    return {"walls": [*SQUARE, list(ends)]}


def test_a_plan_holds_what_it_was_given_and_cannot_be_changed() -> None:
    hut = plan()
    assert (hut.walls.dtype, hut.lights.dtype, hut.rooms.dtype) == (np.float32, np.float32, np.int16)
    assert hut.walls.tolist() == SQUARE
    assert hut.num_rooms == 1
    with pytest.raises(ValueError, match="read-only"):
        hut.walls[0] = 0


def test_touching_walls_are_legal() -> None:
    plan(**with_wall([2.5, 1], [2.5, 2.2]))  # a T
    plan(**with_wall([2.2, 1.5], [2.8, 2.1]))  # stands alone, aslant
    assert plan(lights=[]).lights.shape == (0, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (with_wall([2, 2.5], [2, np.nan]), "plan 'hut': wall 4 is (2, 2.5, 2, nan), expected finite numbers"),
        (with_wall([2, 2.5], [1e39, 2]), "plan 'hut': wall 4 is (2, 2.5, inf, 2), expected finite numbers"),
        (
            with_wall([2, 2.5], [-1, 2]),
            "plan 'hut': wall 4 is (2, 2.5, -1, 2), expected coordinates of 0 to 250 metres",
        ),
        (with_wall([2, 2.5], [2, 2.5]), "plan 'hut': wall 4 (2.00, 2.50)-(2.00, 2.50) has no length; leave it out"),
        (
            with_wall([2, 0.5], [2, 1.8]),
            "plan 'hut': wall 0 (1.00, 1.00)-(3.00, 1.00) and wall 4 (2.00, 0.50)-(2.00, 1.80) cross; "
            "cut both where they meet",
        ),
        (
            with_wall([0.5, 2], [3.5, 2.5]),
            "plan 'hut': wall 1 (3.00, 1.00)-(3.00, 3.00) and wall 4 (0.50, 2.00)-(3.50, 2.50) cross, and 1 more pairs "
            "do; cut both where they meet",
        ),
        (
            with_wall([2, 1], [4, 1]),
            "plan 'hut': wall 0 (1.00, 1.00)-(3.00, 1.00) and wall 4 (2.00, 1.00)-(4.00, 1.00) lie on each other; "
            "leave out what they share",
        ),
        ({"walls": []}, f"plan 'hut': 0 walls, expected 1 to {MAX_WALLS}, which is what a kernel has room for"),
        ({"walls": np.ones((1025, 2, 2))}, "plan 'hut': 1025 walls, expected 1 to 1024"),
        ({"walls": [[1, 2, 3, 4]]}, "plan 'hut': walls has shape (1, 4), expected (*, 2, 2)"),
        ({"walls": [[["a", 2], [3, 4]]]}, "plan 'hut': walls holds something that is not a number"),
        ({"walls": [[[1], [3, 4]]]}, "plan 'hut': walls holds something that is not a number"),
        ({"lights": [[2, np.inf, 1]]}, "plan 'hut': light 0 is (2, inf, 1), expected finite numbers"),
        ({"lights": [[2, 2, 1], [2, 2, 0]]}, "plan 'hut': light 1 has intensity 0, expected more than 0"),
        (
            {"lights": [[2, 2.995, 1]]},
            "plan 'hut': light 0 at (2.00, 2.99) touches wall 2 (3.00, 3.00)-(1.00, 3.00), expected at least 1 cm "
            "between them",
        ),
        (
            {"lights": [[4.5, 2, 1]]},
            "plan 'hut': light 0 at (4.50, 2.00) is outside the map of rooms, which spans (0.00, 0.00) to (4.00, 4.00)",
        ),
        ({"rooms": np.zeros((20, 20))}, "plan 'hut': no room to spawn in: no cell of the map of rooms has a number"),
        ({"rooms": np.full((20, 20), 1.5)}, "plan 'hut': rooms holds what is not a whole number of -32768 to 32767"),
        ({"rooms": [1, 2]}, "plan 'hut': rooms has shape (2,), expected (*, *)"),
        (
            {"walls": SQUARE[:3]},
            "plan 'hut': a way leads from outside to (1.10, 1.30) in room 1: agents there could leave the plan",
        ),
        (
            {"rooms": np.pad(ROOMS[:, 2:], ((0, 0), (0, 2)))},
            "plan 'hut': a way leads from outside to (0.70, 1.10) in room 1",
        ),
        ({"name": " "}, "a plan's name is ' ', expected some text"),
        ({"resolution": 0.0}, "plan 'hut': resolution=0.0, expected 0.05 to 5 metres, such as 0.2"),
        ({"origin": (0, -1)}, "plan 'hut': origin=(0.0, -1.0), expected two finite numbers of at least 0"),
    ],
)
def test_what_is_impossible(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as error:
        plan(**changes)
    assert str(error.value).startswith(message)


def test_a_gap_in_the_outer_wall_is_found_wherever_it_is() -> None:
    for gap in np.arange(1.05, 2.7, 0.13):
        pieces = [[[1, 1], [gap, 1]], [[gap + 0.22, 1], [3, 1]], *SQUARE[1:]]
        with pytest.raises(PlanError, match="a way leads from outside"):
            plan(walls=pieces)


def test_a_light_within_a_slab() -> None:
    slab = [[[1.8, 1.5], [1.8, 2.5]], [[1.8, 2.5], [2.1, 2.5]], [[2.1, 2.5], [2.1, 1.5]], [[2.1, 1.5], [1.8, 1.5]]]
    rooms = ROOMS.copy()
    rooms[7:13, 9:11] = -1
    plan(walls=SQUARE + slab, rooms=rooms, lights=[[1.7, 2, 1]])
    with pytest.raises(PlanError, match=r"light 0 at \(1.95, 2.00\) is in a wall: it sees no free cell"):
        plan(walls=SQUARE + slab, rooms=rooms, lights=[[1.95, 2, 1]])


def test_cells_clear_of_walls() -> None:
    """A cell of 20 cm beside a wall is not clear, the next one is, at least 20 cm away from it."""
    clear = plan().cells_clear_of_walls(0.116)
    assert clear.sum() == 8 * 8
    assert clear[6:14, 6:14].all()
    assert plan().cells_clear_of_walls(0.21).sum() == 6 * 6
    assert plan().centres(np.array([[6, 7]])).tolist() == [pytest.approx([1.5, 1.3])]


def test_toys() -> None:
    room = box(5)
    assert room.walls.reshape(-1, 2).min() == 1
    assert room.walls.reshape(-1, 2).max() == 6
    assert room.lights.tolist() == [[3.5, 3.5, 1.0]]
    pillar = column(6)
    assert len(pillar.walls) == 12
    assert pillar.rooms[20, 20] == -1
    assert (pillar.rooms[:6] <= 0).all()
    for toy, side, message in ((box, 0.5, "1 to 100"), (column, 2.9, "3 to 100"), (box, np.nan, "1 to 100")):
        with pytest.raises(PlanError, match=f"side={side}: expected {message} metres"):
            toy(side)
