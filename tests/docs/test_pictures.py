"""Pictures of README and docs say what they show, and charts say what their axes measure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from benchmarks.experiments import EXPERIMENTS
from benchmarks.experiments.curves import draw as draw_experiments
from benchmarks.teams.picture import draw as draw_teams
from tests.docs.pages import DOCS
from tools.write_scoreboard import RESULTS, results_of
from warpworld.cli.reproduce import TableFile
from warpworld.cli.reproduce.picture import draw_table

ROOT = DOCS.parent
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
RUNS = ROOT / "benchmarks" / "results"


def pictures(page: Path) -> list[tuple[str, str]]:
    """Alternative text and address of each picture of a page."""
    return PICTURE.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.stem)
def test_pictures_have_texts_of_their_own(page: Path) -> None:
    found = pictures(page)
    texts = [text for text, _ in found]
    assert all(len(text.split()) > 1 for text in texts), texts
    assert len(set(texts)) == len(texts)
    assert [address for _, address in found if not (page.parent / address).is_file()] == []


def test_what_is_looked_for_is_found() -> None:
    assert {Path(address).name for _, address in pictures(ROOT / "README.md")} >= {"gallery.png", "learning.png"}
    assert "images/hide_and_seek.gif" in [address for _, address in pictures(DOCS / "gallery.md")]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Figure]]:
    """Figures that are written while a test runs."""
    written: list[Figure] = []
    save = Figure.savefig

    def noted(self: Figure, *places: Any, **options: Any) -> None:
        written.append(self)
        save(self, *places, **options)

    monkeypatch.setattr(Figure, "savefig", noted)
    yield written


def results(name: str) -> Any:
    return json.loads((RUNS / f"{name}-cpu-2-cores.json").read_text())["results"]


def experiments(path: Path) -> None:
    found = results("learning")
    draw_experiments({name: EXPERIMENTS[name].curves for name in found}, found, path)


def table(path: Path) -> None:
    file = TableFile("homes")
    found = results_of(file, RESULTS)
    assert found is not None
    draw_table(file.table, found, "homes", path)


def teams(path: Path) -> None:
    draw_teams(results("teams/comparison"), path)


@pytest.mark.parametrize("draw", [experiments, table, teams])
def test_axes_of_charts_are_labelled(draw: Callable[[Path], None], drawn: list[Figure], tmp_path: Path) -> None:
    draw(tmp_path / "chart.png")
    shown = [axis for each in drawn for axis in each.axes if axis.get_visible()]
    assert len(shown) >= 4
    assert [axis.get_title() for axis in shown if not (axis.get_xlabel() and axis.get_ylabel())] == []
    panels_in_a_row = max(axis.get_subplotspec().get_gridspec().ncols for axis in shown)  # type: ignore[union-attr]
    assert panels_in_a_row <= 2, "more cannot be read on a phone"
