"""What objects show of themselves in a notebook: the right figures, pictures and escaped text, and not much of it."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.report.recorded_worlds import Drawn, Plain, recording_of, run_of
from tests.report.test_report import run_with
from warpworld import Array, World
from warpworld.checking.coverage import Coverage
from warpworld.checking.findings import Finding, Report
from warpworld.checking.places import Lines, Place
from warpworld.drawing import Discs, Drawing
from warpworld.runs.curve import draw_curves

HOSTILE = "<script>alert('hello')</script>"


def cells(shown: str) -> list[str]:
    """The text of a table's cells."""
    return [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", shown)]


def pictures(shown: str) -> list[Image.Image]:
    """What its images hold."""
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in re.findall(r"base64,([\w+/=]+)", shown)]


def test_a_drawing_is_a_picture_in_the_colours_of_its_groups() -> None:
    drawing = Drawing((0, 0, 4, 2), [Discs(1, 1, 1, fill="wolf"), Discs(3, 1, 1, fill="sheep"), Discs(2, 1, 0.1)])
    assert repr(drawing) == "<Drawing: 3 marks in view (0.0, 0.0, 4.0, 2.0)>"
    png = drawing._repr_png_()
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    assert picture.shape == (120, 240, 3)
    assert picture[60, 60].tolist() == [0x2F, 0x6F, 0xB5]
    assert picture[60, 180].tolist() == [0xD1, 0x60, 0x3D]
    assert len(png) < 10_000


def test_a_world_shows_its_groups_its_arrays_and_env_0() -> None:
    world = World(Drawn(), 3, "cpu")
    before = world._repr_html_()
    assert "<b>World Drawn: 3 envs of 3 agents on cpu</b>" in before
    assert cells(before)[4:8] == ["left", "2", "Box(-inf, inf, (1,), float32)", "Discrete(2)"]
    assert cells(before)[-4:] == ["table", "int32 (2,)", "world", "never changes"]
    assert pictures(before) == []
    world.reset()
    (picture,) = pictures(world._repr_html_())
    assert picture.size == (240, 30)
    assert len(world._repr_html_()) < 10_000


def test_a_world_that_does_not_draw_itself_and_a_closed_one_show_no_picture() -> None:
    world = World(Plain(), 1, "cpu")
    world.reset()
    assert pictures(world._repr_html_()) == []
    world.close()
    assert "table" in cells(world._repr_html_())


def test_a_world_of_many_arrays_shows_the_first_ten() -> None:
    class Crowded(Plain):
        def arrays(self) -> Sequence[Array]:
            return [Array(f"x{number}", "float32") for number in range(12)]

    shown = World(Crowded(), 1, "cpu")._repr_html_()
    assert [cell for cell in cells(shown) if cell.startswith("x")] == [f"x{number}" for number in range(10)]
    assert "<p>and 2 more arrays</p>" in shown


def test_text_of_the_author_stays_text() -> None:
    class Hostile(Plain):
        def arrays(self) -> Sequence[Array]:
            return [*super().arrays(), Array("own", "float32", doc=HOSTILE)]

    shown = World(Hostile(), 1, "cpu")._repr_html_()
    assert HOSTILE in cells(shown)
    assert "<script" not in shown


@pytest.mark.long
def test_a_run_shows_how_far_it_has_come(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    shown = run._repr_html_()
    assert f"<b>Run &#x27;{run.path}&#x27;" in shown
    assert cells(shown) == [
        *("env steps", "24 of 80", "left: mean return", "30.00, 20.00 at first"),
        *("right: mean return", "-3.00, -1.00 at first", "checkpoints", "none"),
    ]
    assert pictures(shown) == []
    draw_curves(run.metrics_path, run.curve_path)
    (curve,) = pictures(run._repr_html_())
    assert curve.width == 720
    assert len(run._repr_html_()) < 40_000


def test_a_run_without_metrics_shows_its_checkpoints(tmp_path: Path) -> None:
    shown = run_of(Plain, tmp_path, checkpoints=(0, 5000))._repr_html_()
    assert cells(shown)[:4] == ["env steps", "0 of 80", "left: mean return", "-, - at first"]
    assert cells(shown)[-2:] == ["checkpoints", "0, 5,000"]


def test_a_checks_report_shows_its_findings() -> None:
    race = Finding("race", Place("walk.cu", 12), HOSTILE, "put sync_env() between")
    note = Finding("reset", Place("walk.cu", 0), "left as it was", "declare it", note=True)
    report = Report("walk", 5, 120, 0, (race, note), "the check ended in step 3 of 120", 1.23)
    assert repr(report) == "<Report walk: 1 finding, 1 note (5 envs, 120 steps, seed 0, 1.2 s)>"
    shown = report._repr_html_()
    assert cells(shown) == [
        *("place", "kind", "what happens", "what to do"),
        *("walk.cu:12", "race", HOSTILE, "put sync_env() between"),
        *("walk.cu", "note: reset", "left as it was", "declare it"),
    ]
    assert "the check ended in step 3 of 120" in shown
    assert "<script" not in shown
    assert cells(Report("walk", 5, 120, 0)._repr_html_()) == []
    ran = Coverage("step", 9, 8, (Lines("walk.cu", 4, 4),))
    assert "<p>step: 8 of 9 lines ran; never: walk.cu:4</p>" in Report("walk", 5, 120, 0, coverage=(ran,))._repr_html_()


def test_all_of_them_have_one_short_line_too() -> None:
    for thing in (recording_of([]), Drawing((0, 0, 1, 1), []), World(Plain(), 1, "cpu"), Report("walk", 5, 120, 0)):
        assert repr(thing).startswith(f"<{type(thing).__name__}")
        assert len(repr(thing)) < 120
