"""What the board's server answers: rows, curves, settings, league tables and replays, and nothing besides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.report.recorded_worlds import recording_of
from tests.runs.test_summaries import logged
from warpworld.report.replay import replay_element, write_replay
from warpworld.runs import Run

boards = pytest.importorskip("tests.cli.board.boards", reason="no uvicorn here: pip install 'warpworld[board]'")
if TYPE_CHECKING:
    from tests.cli.board.boards import Board

pytestmark = pytest.mark.cpu_backend

TRAP = '<img src="x" onerror="alert(1)">'
LEAGUE: dict[str, Any] = {
    "policy": "left",
    "against": "right",
    "episodes": 100,
    "rows": ["1", "2"],
    "columns": ["random"],
    "win_rates": [[0.5], [None]],
    "row_ratings": [1000.0, 1100.0],
}


def run_called(name: str, folder: Path, returns: list[float | None], *words: str) -> Run:
    """A run of CartPole that logged these returns and has stopped."""
    run = logged(folder / "made", returns, *words)
    run.close()
    run.path = run.path.rename(folder / name)
    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs of CartPole in a folder ``runs``."""
    run_called("a", tmp_path, [10.0, 20.0], "seed=1")
    run_called("b", tmp_path, [5.0], "seed=2")
    (tmp_path / "runs").mkdir()
    for name in "ab":
        (tmp_path / name).rename(tmp_path / "runs" / name)
    return tmp_path / "runs"


@pytest.fixture
def board(folder: Path) -> Iterator[Board]:
    with boards.board_of(folder) as served:
        yield served


# ---- rows ------------------------------------------------------------------------------------------------------------
def test_a_row_for_each_run_and_then_what_has_changed(board: Board, folder: Path) -> None:
    first = board.json("/api/runs")
    rows = {row["name"]: row for row in first["runs"]}
    assert rows.keys() == {"a", "b"}
    assert rows["a"]["returns"] == {"agent": {"last": 20.0, "best": 20.0}}
    assert (rows["a"]["state"], rows["a"]["env_steps"], rows["a"]["total"]) == ("stopped", 64, 192)
    with (folder / "b" / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 2, "env_steps": 64, "charts/agent/episodic_return": 7.0}\n')
    (folder / "a").rename(folder.parent / "a")
    board.index.refresh()
    second = board.json("/api/runs", [("since", str(first["version"]))])
    assert [(row["name"], row["env_steps"]) for row in second["runs"]] == [("b", 64)]
    assert second["gone"] == ["a"]
    assert board.json("/api/runs", [("since", str(second["version"]))])["runs"] == []


def test_the_speed_is_that_of_the_last_iteration(board: Board, folder: Path) -> None:
    lines = [{"iteration": i, "perf/env_steps_per_s": 100.0 * i} for i in range(1, 200)]
    (folder / "a" / "timing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "b" / "timing.jsonl").write_text('{"perf/env_steps_per_s": Infinity}\n')
    board.index.refresh()
    assert {row["name"]: row["speed"] for row in board.json("/api/runs")["runs"]} == {"a": 19900.0, "b": None}


def test_a_run_that_cannot_be_read_says_why(board: Board, folder: Path) -> None:
    (folder / "a" / "config.yaml").write_text("name: [")
    board.index.refresh()
    row = next(row for row in board.json("/api/runs")["runs"] if row["name"] == "a")
    assert row["state"] == "unreadable"
    assert "config.yaml" in row["problem"]


# ---- curves ----------------------------------------------------------------------------------------------------------
def test_curves_over_steps_and_time(board: Board, folder: Path) -> None:
    (folder / "a" / "timing.jsonl").write_text('{"iteration": 2, "env_steps": 64, "time": 1.5, "perf/x": 3.0}\n')
    found = board.json("/api/curves", [("run", "a"), ("metric", "charts/agent/episodic_return"), ("metric", "perf/x")])
    assert found["a"]["metrics"] == ["iteration", "env_steps", "charts/agent/episodic_return", "time", "perf/x"]
    assert found["a"]["curves"] == {
        "charts/agent/episodic_return": {"steps": [32.0, 64.0], "seconds": [None, 1.5], "values": [10.0, 20.0]},
        "perf/x": {"steps": [64.0], "seconds": [1.5], "values": [3.0]},
    }


def test_a_file_with_holes(board: Board, folder: Path) -> None:
    path = folder / "a" / "metrics.jsonl"
    path.write_text(
        '{"env_steps": 1, "x": NaN}\n{"env_steps": 2, "x": 5}\nbroken\n[1]\n{"env_steps": 3}\n'
        '{"env_steps": 4, "x": true}\n{"env_steps": 5, "x": 1e999}\n{"env_steps": 6, "x": "7"}\n{"env_steps": 7, "x": 6'
    )
    asked = [("run", "a"), ("metric", "x"), ("metric", "nothing")]
    found = board.json("/api/curves", asked)["a"]
    assert found["damaged"] == [f"'{path}': 2 lines are damaged and left out: 3 and 4"]
    values = [None, 5.0, None, None, None]  # a line without x is no gap, one with x that is no number is
    assert found["curves"]["x"] == {"steps": [1.0, 2.0, 4.0, 5.0, 6.0], "seconds": [None] * 5, "values": values}
    with path.open("a") as file:
        file.write("6}\n")  # the rest of the line that was being written
    assert board.json("/api/curves", asked)["a"]["curves"]["x"]["values"] == [*values, 66.0]
    path.write_text('{"env_steps": 1, "x": 9}\n')  # resumed from an earlier checkpoint
    assert board.json("/api/curves", asked)["a"]["curves"]["x"]["values"] == [9.0]


def test_a_return_is_no_gap_where_no_episode_ended(board: Board, folder: Path) -> None:
    key = "charts/agent/episodic_return"
    lines = [(1, 200, 5.0), (2, 0, None), (3, 1, None), (4, 100, 6.0)]
    rows = [{"env_steps": step, "charts/episodes": count, key: value} for step, count, value in lines]
    (folder / "a" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    curve = board.json("/api/curves", [("run", "a"), ("metric", key)])["a"]["curves"][key]
    assert (curve["steps"], curve["values"]) == ([1.0, 3.0, 4.0], [5.0, None, 6.0])


def test_gaps_in_long_curves_stay_where_all_neighbours_are_gaps(board: Board, folder: Path) -> None:
    lines = "".join(f'{{"env_steps": {i}, "x": {"null" if 500 <= i < 504 else 1}}}\n' for i in range(1000))
    (folder / "a" / "metrics.jsonl").write_text(lines)
    curve = board.json("/api/curves", [("run", "a"), ("metric", "x")])["a"]["curves"]["x"]
    assert [i for i, value in enumerate(curve["values"]) if value is None] == [167]
    assert {value for value in curve["values"] if value is not None} == {1.0}


def test_long_curves_are_means_of_neighbours(board: Board, folder: Path) -> None:
    lines = "".join(f'{{"env_steps": {i}, "x": {i % 2}}}\n' for i in range(1000))
    (folder / "a" / "metrics.jsonl").write_text(lines)
    curve = board.json("/api/curves", [("run", "a"), ("metric", "x")])["a"]["curves"]["x"]
    assert len(curve["values"]) == 334
    assert (curve["steps"][0], curve["values"][0], curve["steps"][-1]) == (1.0, pytest.approx(1 / 3, rel=1e-5), 999.0)


def test_a_file_that_cannot_be_read_is_a_problem_of_its_run(board: Board, folder: Path) -> None:
    (folder / "a" / "metrics.jsonl").unlink()
    (folder / "a" / "metrics.jsonl").mkdir()
    found = board.json("/api/curves", [("run", "a"), ("run", "b"), ("metric", "charts/agent/episodic_return")])
    assert found["a"] == {"problem": "it is a folder, expected a file"}
    assert found["b"]["curves"]["charts/agent/episodic_return"]["values"] == [5.0]


# ---- settings, league, replay ----------------------------------------------------------------------------------------
def test_settings_of_one_run_and_what_differs_between_several(board: Board) -> None:
    one = board.json("/api/about", [("run", "a")])
    assert (one["names"], one["settings"]["trainer.seed"], one["settings"]["name"]) == (["a"], ["1"], ["cartpole"])
    two = board.json("/api/about", [("run", "a"), ("run", "b")])
    assert two["settings"] == {"trainer.seed": ["1", "2"]}
    assert two["labels"] == ["seed 1", "seed 2"]


@pytest.mark.parametrize(
    ("change", "is_shown"),
    [({}, True), ({"row_ratings": [1.0]}, False), ({"win_rates": [[1.0]]}, False), ({"episodes": TRAP}, False)],
)
def test_league_tables(change: dict[str, Any], is_shown: bool, board: Board, folder: Path) -> None:
    (folder / "a" / "league.json").write_text(json.dumps({**LEAGUE, **change}))
    found = board.json("/api/about", [("run", "a"), ("run", "b")])["leagues"]
    heading = "left against right, 100 episodes of each pair"
    table = {"rows": ["1", "2"], "columns": ["random"], "win_rates": [[0.5], [None]], "ratings": [1000.0, 1100.0]}
    assert found == ({"a": {"heading": heading, **table}} if is_shown else {})


def test_of_a_replay_only_the_recording_is_taken_over(board: Board, folder: Path) -> None:
    page = write_replay(recording_of([], []), folder / "a" / "replay.html")
    page.write_text(page.read_text().replace("</body>", "<script>alert(1)</script></body>"))
    status, headers, text = board.ask("/replay?run=a")
    assert status == 200
    assert "alert(1)" not in text
    assert re.search(r'"title":"toy"', text)
    policy = headers["Content-Security-Policy"]
    assert re.search(
        r"default-src 'none'; script-src 'sha256-[\w+/=]+'( 'sha256-[\w+/=]+')*; style-src 'sha256-", policy
    )
    (folder / "b" / "replay.html").write_text(replay_element("[1]"))
    assert board.ask("/replay?run=b")[0] == 404


def test_replays_that_a_run_records_are_listed_as_they_come(board: Board, folder: Path) -> None:
    recorded = Run.open(folder / "a").recorded
    recorded.folder.mkdir()
    since = "0"
    for iterations in ([20], [20, 100]):
        write_replay(recording_of([], [], about=f"iteration {iterations[-1]}"), recorded.page(iterations[-1]))
        board.index.refresh()
        found = board.json("/api/runs", [("since", since)])
        (row,) = [row for row in found["runs"] if row["name"] == "a"]
        since = str(found["version"])
        assert row["recorded"]["iterations"] == iterations and row["recorded"]["time"] > 0
    for iteration in (20, 100):
        status, headers, text = board.ask(f"/replay?run=a&iteration={iteration}")
        assert status == 200 and f'"about":"iteration {iteration}"' in text
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'sha256-")
    for wanted in ("30", "", "-1", "..", "1e2", "²", "9" * 20):
        assert board.ask(f"/replay?run=a&iteration={quote(wanted)}")[0] == 404


# ---- fences ----------------------------------------------------------------------------------------------------------
def test_only_this_machine_is_answered(board: Board) -> None:
    assert board.ask("/")[0] == 200
    assert board.ask("/", Host="localhost:1234")[0] == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "192.168.0.2", ""):
        assert board.ask("/api/runs", Host=host)[0] == 400


def test_nothing_can_be_changed(board: Board) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/api/runs", "/api/curves?run=a", "/replay?run=a"):
            assert board.ask(path, method)[0] == 405


def test_no_file_is_served(board: Board) -> None:
    outside = ("/../runs/a/config.yaml", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd")
    for path in (*outside, "/a/config.yaml", "/board.html", "/api/"):
        assert board.ask(path)[0] == 404


def test_only_names_from_the_list_are_runs(board: Board) -> None:
    for name in ("..", "../runs/a", "a/../a", "/etc", "", "c", "a%00"):
        for path in ("/api/curves", "/api/about", "/replay"):
            assert board.ask(f"{path}?run={name}")[0] == 404


def test_links_that_lead_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = run_called("outside", tmp_path, [1.0])
    (folder / "linked").symlink_to(outside.path)
    (folder / "within").symlink_to(folder / "a")
    (folder / "b" / "metrics.jsonl").unlink()
    (folder / "b" / "metrics.jsonl").symlink_to(outside.path / "metrics.jsonl")
    for name in ("c", "d"):  # a folder of replays, or one of them
        run_called(name, tmp_path, [1.0]).path.rename(folder / name)
    (folder / "c" / "replays").symlink_to(outside.path)
    (folder / "d" / "replays").mkdir()
    (folder / "d" / "replays" / "iteration_000002.html").symlink_to(outside.path / "config.yaml")
    with boards.board_of(folder) as board:
        assert {row["name"] for row in board.json("/api/runs")["runs"]} == {"a", "within"}


def test_every_answer_is_fenced(board: Board) -> None:
    for path in ("/", "/board.js", "/board.css", "/api/runs"):
        _, headers, text = board.ask(path)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    policy = board.ask("/")[1]["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ")


def test_hostile_names(folder: Path) -> None:
    name = TRAP.replace("/", "")
    (folder / "a").rename(folder / name)
    with boards.board_of(folder) as board:
        assert {row["name"] for row in board.json("/api/runs")["runs"]} == {name, "b"}
        assert board.json("/api/about", [("run", name)])["names"] == [name]
        assert TRAP not in board.ask("/")[2]
