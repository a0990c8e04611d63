"""Plans in JSON files: written, read, and refused with the place of what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.docs.pages import blocks, page
from warpworld.errors import PlanError
from warpworld.eyes.plans import Plan, box, column, home, load_plan, write_plan

SQUARE = [[1, 1, 3, 1], [3, 1, 3, 3], [3, 3, 1, 3], [1, 3, 1, 1]]
HUT = {
    "format": "warpworld plan 1",
    "walls": SQUARE,
    "lights": [[2, 2, 1]],
    "rooms": {"outlines": [[[1, 1], [3, 1], [3, 3], [1, 3]]]},
}


@pytest.mark.parametrize("plan", [box(5), column(7.3), home(3, 1)], ids=lambda plan: plan.name)
def test_a_plan_that_was_written_is_read_as_it_was(plan: Plan, tmp_path: Path) -> None:
    path = write_plan(plan, tmp_path / "plan.json")
    again = load_plan(path)
    assert again.name == plan.name
    assert again.resolution == plan.resolution
    for name in ("walls", "lights", "rooms", "origin"):
        assert np.array_equal(getattr(again, name), getattr(plan, name)), name


def test_rooms_may_be_outlines_or_a_map(tmp_path: Path) -> None:
    (tmp_path / "hut.json").write_text(json.dumps(HUT))
    hut = load_plan(tmp_path / "hut.json")
    assert hut.name == "hut"
    assert hut.rooms.shape == (20, 20)
    assert (hut.rooms > 0).sum() == 8 * 8  # of 10 x 10 cells those that no wall touches
    assert (hut.rooms[4:16, 4:16] < 0).sum() == 12 * 12 - 8 * 8
    rows = np.zeros((5, 6), dtype=int)
    rows[1:4, 1:3] = 1
    rooms = {"map": rows.tolist(), "resolution": 0.5, "origin": [0.5, 0.75]}
    (tmp_path / "map.json").write_text(json.dumps({**HUT, "name": "a map", "rooms": rooms, "lights": []}))
    plan = load_plan(tmp_path / "map.json")
    assert (plan.name, plan.resolution, plan.origin.tolist()) == ("a map", 0.5, [0.5, 0.75])
    assert np.array_equal(plan.rooms, rows)


def test_the_examples_of_the_page_are_plans(tmp_path: Path) -> None:
    found = blocks(page("plans"), "json")
    assert len(found) >= 1
    for text in found:
        (tmp_path / "example.json").write_text(text)
        plan = load_plan(tmp_path / "example.json")
        assert plan.num_rooms >= 2
        assert plan.cells_clear_of_walls(0.116).sum() > 50


def changed(**changes: Any) -> str:
    whole = {**HUT, **changes}
    return json.dumps({key: value for key, value in whole.items() if value is not None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON: line 1, column 2: Expecting property name enclosed in double quotes"),
        ("\xff", "is not JSON text"),
        (b"\xff\xfe\x00\xff", "is not JSON: line 1, column 1: Expecting value"),
        ("[" * 100_000, "is not JSON text"),
        ("[1]", "the file is a list, expected an object with format, name, walls, lights, rooms"),
        (changed(format="warpworld plan 2"), "format is 'warpworld plan 2', expected 'warpworld plan 1'"),
        (changed(format=None), "the file has no 'format'"),
        (changed(rooms=None), "the file has no 'rooms'"),
        (
            changed(wals=[]),
            "the file has an unknown key 'wals'. Did you mean 'walls'? Known: format, name, walls, lights, rooms",
        ),
        (changed(walls=3), "walls is a number, expected a list"),
        (changed(walls=[*SQUARE, [1, 2, 3]]), "walls[4] is [1, 2, 3], expected [x0, y0, x1, y1]"),
        (changed(walls=[*SQUARE, [1, 2, 3, "4"]]), 'walls[4] is [1, 2, 3, "4"], expected [x0, y0, x1, y1]'),
        (changed(walls=[*SQUARE, [1, 2, 3, True]]), "walls[4] is [1, 2, 3, true], expected [x0, y0, x1, y1]"),
        (changed(walls=[*SQUARE, [1, 2, 3, 10**400]]), "walls holds a number that is too large"),
        (
            changed(walls=[*SQUARE, [2, 2, float("nan"), 2]]),
            "plan 'plan': wall 4 is (2, 2, nan, 2), expected finite numbers",
        ),
        (changed(walls=[]), "plan 'plan': 0 walls, expected 1 to 1024"),
        (changed(lights=[[1, 2]]), "lights[0] is [1, 2], expected [x, y, intensity]"),
        (changed(name=7), "a plan's name is 7, expected some text"),
        (changed(rooms=[]), "rooms is a list, expected an object with map, resolution, origin, outlines"),
        (changed(rooms={}), "rooms has no 'map'"),
        (
            changed(rooms={"outline": []}),
            "rooms has an unknown key 'outline'. Did you mean 'outlines'? Known: map, resolution, origin, outlines",
        ),
        (changed(rooms={"outlines": [], "map": []}), "rooms has an unknown key 'map'. Known: outlines"),
        (changed(rooms={"outlines": [[[1, 1], [2, 2]]]}), "rooms.outlines[0] has 2 corners, expected at least 3"),
        (changed(rooms={"outlines": [[1, 1]]}), "rooms.outlines[0][0] is 1, expected [x, y]"),
        (changed(rooms={"outlines": 1}), "rooms.outlines is a number, expected a list of rooms"),
        (changed(rooms={"outlines": []}), "plan 'plan': no room to spawn in"),
        (
            changed(rooms={"map": [[0, 1], [0]]}),
            "rooms.map[1] is [0], expected a list of 2 numbers, as the first",
        ),
        (changed(rooms={"map": [[1]], "origin": [0]}), "rooms.origin[0] is [0], expected [x, y]"),
        (changed(rooms={"map": [[1]], "resolution": "a"}), "plan 'plan': resolution='a', expected 0.05 to 5 metres"),
    ],
)
def test_what_is_no_plan(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    with pytest.raises(PlanError, match=re.escape(f"'{path}': {message}")):
        load_plan(path)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"nowhere.json': cannot be read: No such file or directory"):
        load_plan(tmp_path / "nowhere.json")
    with pytest.raises(PlanError, match=r"cannot be read: it is a folder, expected a file"):
        load_plan(tmp_path)
    with pytest.raises(PlanError, match=r"plan.json' cannot be written: No such file or directory"):
        write_plan(box(3), tmp_path / "no" / "plan.json")
