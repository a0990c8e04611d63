"""`warpworld report`: the line of random play."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.report.recorded_worlds import Drawn, config_of
from tests.report.test_report import ROWS, run_with, text_of
from warpworld.cli.main import main
from warpworld.runs import Run, watching

OWN = {"left": (6.0 + 36.0) / 2, "right": 66.0}  # of the first episode of ``Drawn``, whatever the actions


def levels(page: str) -> dict[str, float]:
    """The value at each dashed line, by policy."""
    found = {}
    for name in OWN:
        figure = next(part for part in page.split("<figure") if f"{name}: return" in part)
        (start, low, end, high) = map(float, re.findall(r'data-y="([^"]*)"', figure)[0].split())
        for y in re.findall(r'class="level"[^>]* y1="([^"]*)"', figure):
            found[name] = low + (float(y) - start) / (end - start) * (high - low)
    return found


def test_the_dashed_line_is_the_mean_of_random_play(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    assert main(["report", str(run.path), "--replay"]) == 0
    assert levels((run.path / "report.html").read_text()) == pytest.approx(OWN, abs=0.5)


@pytest.mark.parametrize("words", [[], ["--no-replay"]])
def test_no_line_where_nothing_may_run(words: list[str], tmp_path: Path) -> None:
    """The environment is not warpworld's own, and no code of a run's is imported unless it is asked for."""
    run = run_with(tmp_path)
    assert main(["report", str(run.path), *words]) == 0
    assert levels((run.path / "report.html").read_text()) == {}


def test_no_line_where_environments_differ(tmp_path: Path) -> None:
    runs = [run_with(tmp_path / name, ROWS, length=length) for name, length in (("a", 3), ("b", 4))]
    page = tmp_path / "both.html"
    assert main(["report", *(str(run.path) for run in runs), "--replay", "--output", str(page)]) == 0
    assert levels(page.read_text()) == {}


def test_a_broken_configuration_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_with(tmp_path)
    run.save_checkpoint(0, {})
    run.config_path.write_text("name: [")
    assert main(["report", str(run.path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {run.config_path}, line 1: YAML syntax error: ")
    assert err.count("\n") == 1


def test_a_watched_report_follows_its_run_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run logs between two looks, then nothing, then it ends."""
    run = Run.create(config_of(Drawn), tmp_path)
    page, seen, run_log = run.path / "report.html", list[str](), run.log
    events: list[Callable[[], None]] = [lambda: run_log(ROWS[0]), lambda: None, lambda: run_log(ROWS[1]), run.close]

    def look(seconds: float) -> None:
        assert seconds == watching.SECONDS
        seen.append(text_of(page.read_text()))
        if len(seen) == 2:  # then nothing grows, so that nothing is written
            page.write_text("")
        events.pop(0)()

    monkeypatch.setattr(watching.time, "sleep", look)
    assert main(["report", str(run.path), "--no-replay", "--watch"]) == 0
    assert ["It still trains" in text for text in seen] == [True, True, False, True]
    assert [re.findall(r"([\d]+) of \d+ env steps", text)[:1] for text in seen] == [["0"], ["8"], [], ["16"]]
    assert "It still trains" not in text_of(page.read_text())
    assert capsys.readouterr().out.splitlines() == [
        f"{page} is written again while runs train; Ctrl-C leaves it as it is",
        str(page),
    ]


def test_a_watched_report_of_a_run_that_has_ended_is_written_once(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    assert main(["report", str(run.path), "--no-replay", "--watch"]) == 0
    assert "It still trains" not in (run.path / "report.html").read_text()
