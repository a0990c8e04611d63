"""Run folders whose names are no text: bytes that are not UTF-8, or characters that the terminal's encoding lacks."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from warpworld.cli.main import main
from warpworld.files import readable
from warpworld.report.heat_map import draw_win_rates
from warpworld.runs import Run
from warpworld.runs.curve import draw_curves


@pytest.fixture
def renamed(run: Run) -> Run:
    return Run.open(run.path.rename(run.path.with_name("caf\udce9")))  # what Python makes of the byte E9


class Terminal(io.TextIOWrapper):
    """Standard output of a terminal that has no word for some characters."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding, errors="strict")

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_commands_print_it_escaped(renamed: Run, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["report", "--no-replay"], ["watch", "--no-gif"], ["train", "--resume"]):
        monkeypatch.setattr(sys, "stdout", terminal := Terminal(encoding))
        assert main([*words, str(renamed.path), *(["--stop-at", "1"] if "train" in words else [])]) == 0
        assert r"caf\udce9" in terminal.text()


def test_characters_that_the_encoding_lacks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run.path.rename(run.path.with_name("café"))
    monkeypatch.setattr(sys, "stdout", terminal := Terminal("ascii"))
    assert main(["report", "--no-replay", str(path)]) == 0
    assert terminal.text().endswith("caf\\xe9/report.html\n")


def test_a_page_names_it_and_links_to_its_files(renamed: Run, tmp_path: Path) -> None:
    assert main(["report", "--no-replay", "--output", str(tmp_path / "page.html"), str(renamed.path)]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert r"<title>caf\udce9</title>" in page
    link = re.search('href="([^"]*metrics.jsonl)"', page)
    assert link is not None
    assert link[1].endswith("caf%E9/metrics.jsonl")


def test_pictures_are_titled_with_it(renamed: Run) -> None:
    assert draw_curves(renamed.metrics_path, renamed.curve_path).stat().st_size > 1000
    name = renamed.path.name
    table = draw_win_rates(renamed.path / "league.png", [[0.5]], ["a"], ["b"], name, ("a", "b"))  # type: ignore[arg-type]
    assert table.stat().st_size > 1000


def test_other_paths_stay_as_they_are() -> None:
    assert readable(Path("run/é 日")) == "run/é 日"
