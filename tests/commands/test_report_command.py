"""`warpworld report`: the line of random play."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.report.test_report import ROWS, run_with
from warpworld.cli import main

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
