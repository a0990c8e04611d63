"""`warpworld run`, and what users give it."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks, page
from warpworld.cli.main import main

pytestmark = pytest.mark.cpu_backend


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of docs/debugging.md, mended; the working folder is its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "walk", raising=False)
    kernels, root = blocks(page("debugging"), "cuda")[0], "sqrtf(energy[i])"
    assert root in kernels
    (tmp_path / "walk.py").write_text(blocks(page("debugging"), "python")[0])
    (tmp_path / "walk.cu").write_text(kernels.replace(root, "sqrtf(fmaxf(energy[i], 0.0f))"))
    return tmp_path / "walk.py"


def rows(path: Path | str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_it_says_what_happened(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "walk.py", "walkers=2", "--steps", "55", "--envs", "3", "--device", "cpu"]) == 0
    first, second, heading, length, rewards = capsys.readouterr().out.splitlines()
    assert first == "Walk: 3 envs of 2 agents on cpu, seed 0"
    assert second == "55 steps of each env; 6 episodes ended: 0 terminated, 6 truncated"
    assert heading.split() == ["mean", "least", "most"]
    assert length.split() == ["episode", "length", "25", "25", "25"]
    assert rewards.startswith("rewards of walker, an episode  ")
    assert not list(walk.parent.glob("*.csv"))


def test_the_rewards_are_those_of_the_trace(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "walk.py", "--steps", "39", "--envs", "1", "--trace", "0"]) == 0
    *_, table, last = capsys.readouterr().out.splitlines()
    assert last == "Walk-env0.csv: env 0, 123 rows"
    first = [float(row["rewards"] or 0) for row in rows("Walk-env0.csv") if row["episode"] == "1"]
    assert table.split()[-3:] == [f"{sum(first) / 3:.4g}"] * 3


def test_declared_metrics_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "tag_continuous", "--steps", "500", "--envs", "2", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.startswith("num runners, an episode"))
    mean, least, most = (float(text) for text in line.removeprefix("num runners, an episode").split())
    assert 0 <= least <= mean <= most <= 20 and least == round(least)


def test_a_budget_that_is_shorter_than_an_episode(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "walk.py", "--steps", "3", "--device", "cpu"]) == 0
    ended, heading, rewards, limit = capsys.readouterr().out.splitlines()[1:]
    assert ended == "3 steps of each env; 0 episodes ended"
    assert heading.split() == ["mean", "least", "most"]
    mean, least, most = (float(text) for text in rewards.removeprefix("rewards of walker, so far").split())
    assert least <= mean <= most
    assert limit == "An episode has up to 25 steps, more than were taken: --steps 25 shows whole ones."


def test_a_registered_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "cartpole", "--steps", "2", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.startswith("cartpole: 5 envs of 1 agent on cpu, seed 0\n2 steps of each env; ")


@pytest.mark.heavy
@pytest.mark.long
def test_a_packaged_name_is_the_world_that_its_config_trains(capsys: pytest.CaptureFixture[str]) -> None:
    """As in ``warpworld.make``: four taggers and a runner on 20 cells, of which parameters given here change some."""
    words = ["--steps", "1", "--envs", "2", "--device", "cpu"]
    assert main(["run", "tag_gridworld", *words]) == 0
    assert capsys.readouterr().out.startswith("tag_gridworld: 2 envs of 5 agents on cpu")
    assert main(["run", "tag_gridworld", "num_taggers=7", *words]) == 0
    assert capsys.readouterr().out.startswith("tag_gridworld: 2 envs of 8 agents on cpu")


def test_a_module_as_a_process(walk: Path) -> None:
    command = [sys.executable, "-m", "warpworld", "run", "walk:Walk", "--steps", "2", "--device", "cpu"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Walk: 5 envs of 3 agents on cpu, seed 0\n2 steps of each env; ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cartpol"], "unknown environment 'cartpol'. Did you mean 'cartpole'?"),
        (["walk.py", "walker=2"], "Walk: no parameter 'walker'. Did you mean 'walkers'?"),
        (["walk.py", "--trace", "5"], "env 5 cannot be traced: the world has envs 0 to 4"),
        (["walk.py", "--output", "x.csv"], "--output and --arrays are about a trace; say of which env: --trace 0"),
        (["walk.py", "--trace", "0", "--arrays", "enrgy"], "no array 'enrgy' to trace. Did you mean 'energy'?"),
        (
            ["walk.py", "--trace", "0", "--output", "walk.cu"],
            "'walk.cu' is there already and is no trace; give another name, or remove it",
        ),
        (["walk.py", "--trace", "0", "--output", "no/x.csv"], "'no/x.csv' cannot be written: No such file"),
    ],
)
def test_mistakes_are_told_in_a_line_with_status_2(
    walk: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kernels = (walk.parent / "walk.cu").read_text()
    assert main(["run", *words, "--device", "cpu"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert (walk.parent / "walk.cu").read_text() == kernels


def test_a_fault_is_told_and_the_trace_ends_before_it(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, line = walk.with_suffix(".cu"), "  rewards[i] = way;"
    path.write_text(path.read_text().replace(line, f"  assert(timestep[env_id()] < 5);\n{line}"))
    assert main(["run", "walk.py", "--device", "cpu", "--trace", "1"]) == 2
    told, error = capsys.readouterr().err.splitlines()
    assert told == "Walk-env1.csv ends with step 4, the last before the fault"
    assert "kernel 'step', env 0, agent 0: assertion failed: timestep[env_id()] < 5" in error
    assert rows("Walk-env1.csv")[-1]["step"] == "4"
