"""Damaged lines of metrics: every command uses the good ones and names the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runs.test_summaries import logged
from warpworld.cli.main import main
from warpworld.runs import Run
from warpworld.runs.as_html import run_html
from warpworld.runs.curve import draw_curves
from warpworld.runs.metrics.metric_files import MOST_NAMED, Damage, find_damage, read_metrics
from warpworld.runs.summary import Returns, summarise

GOOD = '{"iteration": 1, "env_steps": 32, "charts/agent/episodic_return": 3.0}'


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run whose metrics have a broken second line."""
    made = logged(tmp_path / "runs", [3.0, 4.0, 5.0])
    made.close()
    lines = made.metrics_path.read_text().splitlines(keepends=True)
    made.metrics_path.write_text("".join([lines[0], lines[1][:30] + "\n", lines[2]]))
    return made


@pytest.mark.parametrize(
    "line",
    [
        '{"env_st',
        "[2]",
        "not JSON",
        "",
        "\0" * 8,
        '{"iteration": 2, "env_' + GOOD,
        '{"iteration: 2}',
        '{"iteration": 2,}"',
        '{"\xff": 2}',
        "[" * 5000,
    ],
    ids=["torn", "a list", "text", "empty", "zeros", "joined", "quote", "end", "not UTF-8", "deep"],
)
def test_what_is_damaged(tmp_path: Path, line: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(f"{GOOD}\n{line}\n{GOOD}\n".encode("latin-1"))
    metrics, damage = read_metrics(path), Damage(path)
    assert metrics.rows == 2 * [json.loads(GOOD)]
    find_damage(path.read_bytes(), damage)
    assert metrics.damage == damage
    assert str(damage) == f"'{path}': line 2 is damaged and left out"


@pytest.mark.parametrize("line", [GOOD, "{}", '{"a": {"b": "c:d"}}', '{"a": "\\""}'])
def test_what_is_not(line: str) -> None:
    damage = Damage(Path("metrics.jsonl"))
    find_damage(f"{GOOD}\n{line}\n".encode(), damage)
    find_damage(b"", damage)
    assert str(damage) == ""


def test_many_damaged_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("x\n" * (MOST_NAMED + 2))
    assert str(read_metrics(path).damage) == f"'{path}': 7 lines are damaged and left out: 1, 2, 3, 4, 5 and 2 more"


def test_listings_name_it(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    message = f"'{run.metrics_path}': line 2 is damaged and left out"
    for _ in range(2):  # a summary that is kept names it, too
        summary = summarise(run)
        assert summary.returns == {"agent": Returns(5.0, 5.0)}
        assert (summary.env_steps, summary.problem) == (96, message)
    for words in (["runs", str(run.path.parent)], ["compare", str(run.path), str(run.path)]):
        assert main(words) == 0
        assert set(capsys.readouterr().err.splitlines()) == {message}


def test_a_page_and_a_notebook_show_it(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run.path), "--no-replay"]) == 0
    assert capsys.readouterr().err == f"'{run.metrics_path}': line 2 is damaged and left out\n"
    page = (run.path / "report.html").read_text()
    assert "metrics.jsonl&#x27;: line 2 is damaged and left out" in page
    assert "96 of 200 env steps" in page
    assert "line 2 is damaged and left out</td>" in run_html(run)
    assert draw_curves(run.metrics_path, run.curve_path).stat().st_size > 1000


def test_an_iteration_that_is_no_number(run: Run) -> None:
    run.metrics_path.write_text('{"iteration": [1], "env_steps": 32}\n')
    run.timing_path.write_text('{"iteration": {}, "time": 1}\n')
    assert "32 of 200" in run_html(run)
