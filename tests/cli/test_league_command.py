"""The table that `league` prints: who won stands in the row, the strongest first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.recorded_worlds import Drawn, run_of
from warpworld.cli.main import main
from warpworld.trainers.league.cross_play import CrossPlay


def printed(
    found: CrossPlay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[list[list[str]], dict[str, Any]]:
    """The words of each line, and what the picture is drawn of."""
    drawn: dict[str, Any] = {}

    def draw(path: Path, rates: np.ndarray, rows: list[str], columns: list[str], title: str, labels: Any) -> Path:
        drawn.update(rates=rates, rows=rows, columns=columns, labels=labels)
        return path

    monkeypatch.setattr("warpworld.trainers.league.cross_play.cross_play", lambda *given, **named: found)
    monkeypatch.setattr("warpworld.report.heat_map.draw_win_rates", draw)
    run = run_of(Drawn, tmp_path)
    assert main(["league", str(run.path)]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()], drawn


def test_players_among_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = np.array([[np.nan, 0.25, 0.1], [0.75, np.nan, 0.2], [0.9, 0.8, np.nan]])
    ratings = np.array([900.0, 1000.4, 1100.0])
    found = CrossPlay("left", "left", ["a", "b", "c"], ["a", "b", "c"], rates, ratings, ratings, 8, same=True)
    lines, drawn = printed(found, tmp_path, monkeypatch, capsys)
    assert lines[1:5] == [
        ["Elo", "c", "b", "a"],
        ["c", "1100", "-", "0.80", "0.90"],
        ["b", "1000", "0.20", "-", "0.75"],
        ["a", "900", "0.10", "0.25", "-"],
    ]
    assert len(lines) == 6  # and the picture's path
    assert np.array_equal(drawn["rates"], rates, equal_nan=True)
    assert drawn["rows"] == drawn["columns"] == ["a (900)", "b (1000)", "c (1100)"]
    assert drawn["labels"] == ("left: iteration (Elo)", "against left: iteration (Elo)")
    (written,) = tmp_path.glob("*/league.json")
    saved = json.loads(written.read_text())
    assert saved["win_rates"] == [[None, 0.25, 0.1], [0.75, None, 0.2], [0.9, 0.8, None]]
    assert (saved["rows"], saved["row_ratings"], saved["episodes"]) == (["a", "b", "c"], ratings.tolist(), 8)


def test_two_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rates = np.array([[0.5, 0.25, 0.0], [1.0, 0.75, 0.6]])
    ratings = np.array([900.0, 1100.0]), np.array([1.0, 3.0, 2.0])
    found = CrossPlay("left", "right", ["a", "b"], ["x", "y", "z"], rates, *ratings, 8, same=False)
    lines, _ = printed(found, tmp_path, monkeypatch, capsys)
    assert lines[1:4] == [
        ["Elo", "x", "y", "z"],
        ["b", "1100", "1.00", "0.75", "0.60"],
        ["a", "900", "0.50", "0.25", "0.00"],
    ]
    assert lines[5:10] == [["the", "columns:", "right"], ["Elo"], ["y", "3"], ["z", "2"], ["x", "1"]]
