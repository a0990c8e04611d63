"""`warpworld trace`: the episodes of a run's policies, as `warpworld watch` records them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_export_command import run_with
from tests.docs.pages import blocks, page
from warpworld.cli.main import main
from warpworld.report.recording import record
from warpworld.runs import Run
from warpworld.trainers.evaluate import load_policies

pytestmark = pytest.mark.cpu_backend


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_with(tmp_path)


def test_arrays_are_of_the_episodes_that_watch_records(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(run.path), "--episodes", "2", "--seed", "3"]) == 0
    found = dict(np.load(run.path / "trace.npz"))
    assert capsys.readouterr().out == f"{run.path / 'trace.npz'}: 2 episodes, {len(found['step'])} events\n"
    frames = record(run.config, load_policies(run), episodes=2, seed=3).frames
    assert [(frame.episode, frame.timestep) for frame in frames] == list(
        zip(found["episode"], found["timestep"], strict=True)
    )
    np.testing.assert_array_equal(np.array([frame.rewards for frame in frames]), found["rewards"])
    assert [frame.end != "" for frame in frames] == list(found["terminated"] | found["truncated"])


def test_rows_and_chosen_arrays(run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = tmp_path / "a.npz", tmp_path / "a.csv"
    words = ["--npz", str(paths[0]), "--csv", str(paths[1]), "--arrays", "observations,rewards", "--greedy"]
    assert main(["trace", str(run.path), *words, "--checkpoint", "0", "--device", "cpu", "length=4"]) == 0
    found = dict(np.load(paths[0]))
    assert set(found) == {"step", "episode", "event", "group", "observations", "rewards"}
    assert len(found["step"]) == 1 + 4
    with paths[1].open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(row["rewards"] or 0) for row in lines] == found["rewards"].ravel().tolist()
    assert capsys.readouterr().out.splitlines() == [
        f"{paths[0]}: 1 episode, 5 events",
        f"{paths[1]}: 1 episode, {len(lines)} rows",
    ]
    assert not (run.path / "trace.npz").exists()


def test_transitions_as_the_page_reads_them(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", str(run.path), "--arrays", "episodes.npz", "--episodes", "3"]) == 0
    (program,) = (block for block in blocks(page("replays"), "python") if "episodes.npz" in block)
    found: dict[str, Any] = {}
    exec(program, found)
    data = np.load("episodes.npz")
    assert len(found["actions"]) == len(data["step"]) - 3
    assert found["rewards"].sum() == data["rewards"].sum()
    ended = data["terminated"] | data["truncated"]
    assert set(np.flatnonzero(data["event"] == "reset")[1:] - 1) | {len(ended) - 1} == set(np.flatnonzero(ended))
    np.testing.assert_array_equal(found["next_observations"][0], found["observations"][1])


def test_text_alone(run: Run, tmp_path: Path) -> None:
    assert main(["trace", str(run.path), "--csv", str(tmp_path / "a.csv")]) == 0
    assert (tmp_path / "a.csv").exists()
    assert not (run.path / "trace.npz").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--npz", "x.csv"], "--npz x.csv: expected a name that ends in .npz; for text: --csv FILE"),
        (["--csv", "x.npz"], "--csv x.npz: expected a name that does not end in .npz; for arrays: --npz FILE"),
        (["--arrays", "observation"], "no array 'observation' to trace. Did you mean 'observations'?"),
        (["--checkpoint", "3"], "has no checkpoint of iteration 3, the nearest is 0"),
        (["lenght=3"], "command line, lenght=3: lenght is not a known key. Did you mean 'env.length'?"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_mistakes(run: Run, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(run.path), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (run.path / "trace.npz").exists()
