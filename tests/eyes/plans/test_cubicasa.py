"""Plans from a folder in the format of CubiCasa5k; the drawings are our own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.eyes.plans.plan_oracle import turns
from warpworld.errors import PlanError
from warpworld.eyes.plans import Plan, PlanSet, load_cubicasa
from warpworld.eyes.plans.polygons import grown, slab_outlines

Corners = Sequence[tuple[float, float]]


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Corners:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def group(attributes: str, corners: Corners, inner: str = "") -> str:
    points = " ".join(f"{x},{y}" for x, y in corners)
    return f'<g {attributes}><polygon points="{points} "/>{inner}</g>'


def wall(corners: Corners, *doors: Corners) -> str:
    swings = [
        group('id="Door" class="Door Swing Beside"', door, '<g class="Panel"><path d="M0,0"/></g>') for door in doors
    ]
    return group('id="Wall" class="Wall External" style="fill: #000000"', corners, "".join(swings))


def space(kind: str, corners: Corners) -> str:
    label = '<g class="SpaceDimensionsLabel"><text>A</text></g>'
    return group(f'class="Space {kind}"', corners, label)


# 6 m x 4 m: two rooms with a door between them, a front door below, a balcony behind, and a corner that a slanted wall
# seals.
OUTER = [rectangle(100, 100, 700, 120), rectangle(100, 100, 120, 500), rectangle(680, 100, 700, 500)]
FRONT_DOOR, DOOR = rectangle(300, 480, 390, 500), rectangle(395, 200, 405, 290)
SLANTED = [(405, 300), (413, 295), (500, 400), (500, 480), (490, 480), (490, 405)]
GROUPS = [
    *(wall(corners) for corners in OUTER),
    wall(rectangle(100, 480, 700, 500), FRONT_DOOR),
    wall(rectangle(395, 121, 405, 479), DOOR),  # a pixel is missing at both ends
    wall(SLANTED),
    space("LivingRoom", rectangle(120, 120, 395, 480)),
    space("Kitchen", rectangle(405, 120, 680, 480)),
    space("Outdoor Balcony", rectangle(100, 500, 700, 600)),
]


def drawn(folder: Path, groups: Sequence[str]) -> Path:
    """A folder with a drawing of these groups."""
    folder.mkdir(exist_ok=True)
    body = f'<g class="Model v1-1"><g class="Floor"><g class="Floorplan Floor-1">{"".join(groups)}</g></g></g>'
    text = f'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="900" height="700">{body}</svg>'
    (folder / "model.svg").write_text(text)
    return folder


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return load_cubicasa(drawn(tmp_path / "4711", GROUPS))


def at(plan: Plan, x: float, y: float) -> int:
    """The map at a pixel of the drawing."""
    places = (x - 100) / 100 + 1.01, (500 - y) / 100 + 1.01
    return int(plan.rooms[int(places[1] / 0.2), int(places[0] / 0.2)])


def test_rooms_with_an_open_door_between_them(plan: Plan) -> None:
    assert plan.name == "4711"
    assert (at(plan, 200, 300), at(plan, 600, 300), at(plan, 420, 440)) == (1, 2, 0)
    assert at(plan, 300, 550) == 0  # the balcony
    assert len(plan.lights) == 2
    door = np.array([[(400 - 100) / 100 + 1.01, (500 - 245) / 100 + 1.01]])
    front_door = np.array([[(345 - 100) / 100 + 1.01, (500 - 490) / 100 + 1.01]])
    assert turns(door, plan.walls).tolist() == [0], "a door between rooms is open"
    assert turns(front_door, plan.walls).tolist() == [-1], "the front door is shut"


def test_outlines_are_closed_and_have_the_free_space_on_their_left(plan: Plan) -> None:
    starts, ends = (Counter(map(tuple, plan.walls[:, end].tolist())) for end in (0, 1))
    assert starts == ends
    along = plan.walls[:, 1] - plan.walls[:, 0]
    left = np.stack([-along[:, 1], along[:, 0]], -1) / np.linalg.norm(along, axis=1)[:, None]
    assert set(turns(plan.walls.mean(1) + 0.003 * left, plan.walls).tolist()) == {0}
    assert set(turns(plan.walls.mean(1) - 0.003 * left, plan.walls).tolist()) == {-1}
    corners = plan.walls.reshape(-1, 2)
    assert corners.min(0).tolist() == [1, 1]
    assert corners.max(0).tolist() == pytest.approx([7.02, 5.02])


def test_it_can_be_packed(plan: Plan) -> None:
    plans = PlanSet([plan])
    assert np.diff(plans["plan_first_room"]).tolist() == [2]


def test_the_same_folder_gives_the_same_plan(plan: Plan, tmp_path: Path) -> None:
    again = load_cubicasa(tmp_path / "4711" / "model.svg")
    assert np.array_equal(again.lights, plan.lights)
    assert not np.array_equal(load_cubicasa(tmp_path / "4711", seed=1).lights, plan.lights)


def test_of_rooms_apart_the_larger_part_is_kept(tmp_path: Path) -> None:
    groups = [
        *GROUPS[:4],
        wall(rectangle(395, 121, 405, 479)),
        *GROUPS[6:7],
        space("Bath", rectangle(405, 120, 680, 480)),
    ]
    groups[5] = space("LivingRoom", rectangle(120, 120, 395, 300))  # less of it is marked
    plan = load_cubicasa(drawn(tmp_path / "apart", groups))
    assert (at(plan, 200, 200), at(plan, 600, 300), plan.num_rooms) == (0, 1, 1)


def test_a_room_without_a_wall_towards_the_outside_is_left_out(tmp_path: Path) -> None:
    carport = space("CarPort", rectangle(700, 100, 900, 500))
    plan = load_cubicasa(drawn(tmp_path / "open", [*GROUPS, carport]))
    assert (at(plan, 750, 300), plan.num_rooms) == (0, 2)


@pytest.mark.parametrize("angle", [0.0, 0.1, -0.3, 0.25 * np.pi, 1.2])
def test_a_house_that_stands_askew(angle: float, tmp_path: Path) -> None:
    """Three rooms by two of 3 m, with walls of 10 and 20 pixels that overlap where they meet, and doors everywhere."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def askew(*corners: float) -> Corners:
        return [tuple(point) for point in np.round(np.array(rectangle(*corners)) @ turn + 1000, 2).tolist()]

    groups = [wall(askew(-20, y, 920, y + 20)) for y in (-20, 600)] + [
        wall(askew(x, -20, x + 20, 620)) for x in (-20, 900)
    ]
    groups += [
        wall(askew(x - 5, 0, x + 5, 600), *(askew(x - 5, y, x + 5, y + 90) for y in (50, 420))) for x in (300, 600)
    ]
    groups += [wall(askew(0, 295, 900, 305), *(askew(x, 295, x + 80, 305) for x in (100, 350, 700)))]
    groups += [space("Room", askew(x, y, x + 300, y + 300)) for x in (0, 300, 600) for y in (0, 300)]
    plan = load_cubicasa(drawn(tmp_path / "askew", groups))
    assert plan.num_rooms == 6
    starts, ends = (Counter(map(tuple, plan.walls[:, end].tolist())) for end in (0, 1))
    assert starts == ends
    assert len(plan.walls) == 4 + 6 * 4 + 7 * 4  # around the house, around each room, and what each door adds


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], 'has no walls: no group with id="Wall" holds a polygon, as in CubiCasa5k\'s model.svg'),
        (GROUPS[:6], 'has no rooms: no group with class="Space ..." holds a polygon, as in CubiCasa5k\'s model.svg'),
        (
            [*GROUPS[1:5], *GROUPS[6:]],
            "plan 'bad': no room to spawn in: no cell of the map of rooms has a number of 1 or more",
        ),
        (
            [wall(rectangle(0, 0, 9, 9)).replace("0,0", "0,a"), *GROUPS],
            "a polygon has points '0,a 9,0 9,9 0,9 ', expected pairs of numbers",
        ),
        (
            [wall(rectangle(0, 0, 9, 9)).replace("0,0", "0,nan"), *GROUPS],
            "a polygon has points '0,nan 9,0 9,9 0,9 ', expected finite numbers",
        ),
        (
            [wall(rectangle(0, 0, 9, 9)).replace("<g ", '<g transform="scale(2)" '), *GROUPS],
            "a wall, door or room has a `transform`, which is not read; apply it to the polygons",
        ),
    ],
)
def test_what_makes_no_plan(groups: Sequence[str], message: str, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "bad", groups)
    with pytest.raises(PlanError) as error:
        load_cubicasa(folder)
    assert str(error.value) == f"'{folder / 'model.svg'}': {message}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"model.svg': cannot be read: No such file or directory"):
        load_cubicasa(tmp_path)
    (tmp_path / "model.svg").write_text("<svg><g></svg>")
    with pytest.raises(PlanError, match=re.escape("model.svg': is not SVG: mismatched tag: line 1, column 10")):
        load_cubicasa(tmp_path)
    (tmp_path / "model.svg").write_bytes(b"\xff\xd8 a picture")
    with pytest.raises(PlanError, match=r"model.svg': is not SVG"):
        load_cubicasa(tmp_path)


# ---- polygons --------------------------------------------------------------------------------------------------------
def test_growing_moves_every_side_outwards() -> None:
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    for polygon in (triangle, triangle[::-1], np.insert(triangle, 1, [2.0, 0.0], axis=0)):
        moved = grown(polygon, 1.0)
        # Inradius 1, so all lengths double about the middle of the inscribed circle, (1, 1).
        assert sorted(map(tuple, np.round(moved, 9).tolist())) == [(-1, -1), (-1, 5), (7, -1)]
    concave = np.array([[0, 0], [2, 0], [1, 0.5], [1, 2]], dtype=float)
    assert grown(concave, 1.0) is concave
    spike = np.array([[0, 0], [9, 0.1], [0, 0.2]], dtype=float)
    assert grown(spike, 1.0) is spike
    there_and_back = np.array([[0, 0], [9, 0], [4, 0]], dtype=float)
    assert np.array_equal(grown(there_and_back, 1.0)[:2], there_and_back[:2])


@pytest.mark.parametrize("seed", range(8))
def test_outlines_of_random_polygons_enclose_what_is_covered(seed: int) -> None:
    """Overlapping, slanted and touching ones, against the question of each point itself."""
    random = np.random.default_rng(seed)

    def quadrangle() -> np.ndarray:
        angle = random.uniform(0, np.pi) if random.random() < 0.6 else 0.0
        along = np.array([np.cos(angle), np.sin(angle)])
        corners = np.round(random.uniform(0.2, 3, 2), 1) * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        return np.round(random.uniform(0, 5, 2), 1) + corners @ np.stack([along, [-along[1], along[0]]])

    solid, openings = [quadrangle() for _ in range(7)], [quadrangle() for _ in range(2)]
    walls = slab_outlines(solid, openings)
    points = random.uniform(-1, 8, (3000, 2))

    def within(polygon: np.ndarray) -> np.ndarray:
        sides = np.roll(polygon, -1, axis=0) - polygon
        to = points[:, None] - polygon
        return (sides[:, 0] * to[..., 1] - sides[:, 1] * to[..., 0] > 0).all(1)

    covered = np.any([within(polygon) for polygon in solid], axis=0) & ~np.any([within(p) for p in openings], axis=0)
    assert 0.1 < covered.mean() < 0.9
    assert np.array_equal(turns(points, walls), np.where(covered, -1, 0))
