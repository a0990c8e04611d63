"""`warpworld plans`: files, statistics, a picture."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.docs.pages import blocks, page
from tests.eyes.plans.test_cubicasa import GROUPS, drawn
from warpworld.cli.main import main
from warpworld.drawing.canvas import paint
from warpworld.drawing.palette import colour_table, rgb
from warpworld.eyes.plans import box, column, home, load_plan, write_plan
from warpworld.eyes.plans.from_above import FLOORS, SLAB, draw_plan


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_homes_are_written_with_a_picture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plans", "--seed", "3", "--count", "11", "--rooms", "2-4", "--output", "out/small"]) == 0
    folder = here / "out" / "small"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [*(f"home-3-{i:02}.json" for i in range(11)), "plans.png"]
    for i in (0, 10):
        assert np.array_equal(load_plan(folder / f"home-3-{i:02}.json").walls, home(3, i, (2, 4)).walls)
    lines = capsys.readouterr().out.splitlines()
    rooms = [home(3, i, (2, 4)).num_rooms for i in range(11)]
    assert lines[0].split() == ["least", "mean", "most"]
    assert lines[1].split() == ["rooms", str(min(rooms)), f"{np.mean(rooms):.1f}", str(max(rooms))]
    assert lines[-2:] == ["11 plans in out/small", "out/small/plans.png"]
    with Image.open(folder / "plans.png") as sheet:
        assert sheet.size == (4 * 252 + 12, 3 * 270 + 12 + 22)


def test_own_plans_are_checked_and_drawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_plan(box(4), here / "box.json")
    drawn(here / "4711", GROUPS)
    assert main(["plans", "box.json", "4711"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["rooms", "1", "1.5", "2"]
    assert lines[-1] == "plans/plans.png"
    assert [path.name for path in (here / "plans").iterdir()] == ["plans.png"]


def test_a_folder_is_all_plans_in_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON files right in it, drawings however deep; what `warpworld plans` has drawn can be read again."""
    assert main(["plans", "--seed", "3", "--count", "2", "--rooms", "3", "--output", "flats"]) == 0
    (here / "flats" / "high_quality").mkdir()
    drawn(here / "flats" / "high_quality" / "4711", GROUPS)
    drawn(here / "flats" / "4712", GROUPS)
    capsys.readouterr()
    assert main(["plans", "flats", "flats/4712/model.svg"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["rooms", "2", f"{(3 + 3 + 2 + 2 + 2) / 5:.1f}", "3"]
    assert len({path.name for path in (here / "flats").glob("*.json")}) == 2
    with Image.open(here / "plans" / "plans.png") as sheet:
        assert sheet.size == (3 * 252 + 12, 2 * 270 + 12 + 22)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--count", "0"], "argument --count: '0', expected a whole number of at least 1"),
        (["--seed", "-1"], "argument --seed: '-1', expected a whole number of at least 0"),
        (["--rooms", "9-6"], "argument --rooms: '9-6', expected two numbers of 1 to 60, such as 6-20"),
        (["--rooms", "many"], "argument --rooms: 'many', expected two numbers of 1 to 60, such as 6-20"),
        (["--rooms", "1-61"], "argument --rooms: '1-61', expected two numbers of 1 to 60, such as 6-20"),
    ],
)
def test_words_that_are_wrong(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["plans", *words])
    assert message in capsys.readouterr().err


def test_files_that_are_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "broken.json").write_text("{")
    (here / "taken").write_text("")
    (here / "empty").mkdir()
    for words, message in (
        (["broken.json"], "error: 'broken.json': is not JSON: line 1, column 2: "),
        (
            ["nowhere.json"],
            "error: 'nowhere.json' is neither a file nor a folder; expected plans as JSON or of CubiCasa5k",
        ),
        (["empty"], "error: folder 'empty' holds no plans: expected files NAME.json, or folders with a model.svg\n"),
        (["."], "error: 'broken.json': is not JSON: line 1, column 2: "),
        (["--count", "1", "--output", "taken/in"], "error: folder 'taken/in' cannot be made: Not a directory\n"),
    ):
        assert main(["plans", *words]) == 2
        assert message in capsys.readouterr().err
    assert not (here / "plans").exists()


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_page_shows_what_a_thousand_homes_are_like(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plans", "--seed", "0", "--count", "1000"]) == 0
    assert capsys.readouterr().out.startswith(blocks(page("plans"), "text")[0])


def test_a_drawing_shows_floors_slabs_and_lights() -> None:
    colours = {name: light for name, (light, _) in colour_table([]).items()}
    plan = home(5, 2)
    picture = draw_plan(plan)
    scale = 20
    size = round(picture.width * scale), round(picture.height * scale)
    pixels = np.asarray(paint(picture, *size, colours)).astype(int)

    def colour_at(x: float, y: float) -> tuple[int, ...]:
        column, row = (x - picture.view[0]) * scale, (picture.view[3] - y) * scale
        return tuple(pixels[int(row), int(column)].tolist())

    for room in range(1, plan.num_rooms + 1):
        places = plan.centres(np.argwhere((plan.rooms == room) & plan.cells_clear_of_walls(0.15)))
        far = np.linalg.norm(places[:, None] - plan.lights[:, :2], axis=-1).min(1) > 0.3
        assert {colour_at(x, y) for x, y in places[far]} == {rgb(FLOORS[(room - 1) % len(FLOORS)])}
    corner = plan.walls.reshape(-1, 2).min(0)
    assert colour_at(*(corner + 0.12)) == rgb(SLAB)
    assert colour_at(*(corner - 0.2)) == (255, 255, 255)
    for x, y, _ in plan.lights:
        assert re.match("#f", f"#{colour_at(x, y)[0]:02x}")


def test_a_room_of_bare_lines_is_not_drawn_as_solid() -> None:
    colours = {name: light for name, (light, _) in colour_table([]).items()}
    pixels = np.asarray(paint(draw_plan(column(6)), 330, 330, colours))
    slab, floor = ((pixels == rgb(colour)).all(-1).mean() for colour in (SLAB, FLOORS[0]))
    assert 0.04 < slab < 0.2
    assert floor > 0.6
