"""`warpworld run`, and what users give it."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks, page

import warpworld
from warpworld.cli import main

pytestmark = pytest.mark.cpu_backend


@pytest.fixture
def berries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of docs/checking.md, races and all; the working folder is its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "berries", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "berries.py").write_text(blocks(page("checking"), "python")[0])
    (tmp_path / "berries.cu").write_text(blocks(page("checking"), "cuda")[0])
    return tmp_path / "berries.py"


def rows(path: Path | str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_it_says_what_happened(berries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "berries.py", "foragers=2", "--steps", "45", "--envs", "3", "--device", "cpu"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "Berries: 3 envs of 2 agents on cpu, seed 0"
    assert second == "45 steps of each env; 6 episodes ended: 0 terminated, 6 truncated, 20.0 steps long on average"
    assert third.startswith("rewards of an episode, mean over agents: forager ")
    assert not list(berries.parent.glob("*.csv"))


def test_the_rewards_are_those_of_the_trace(berries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "berries.py", "--steps", "39", "--envs", "1", "--trace", "0"]) == 0
    *_, told, last = capsys.readouterr().out.splitlines()
    assert last == "Berries-env0.csv: env 0, 164 rows"
    first = [float(row["rewards"] or 0) for row in rows("Berries-env0.csv") if row["episode"] == "1"]
    assert told == f"rewards of an episode, mean over agents: forager {sum(first) / 4:.4g}"


def test_without_an_end_nothing_is_said_of_episodes(berries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "berries.py", "--steps", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["3 steps of each env; 0 episodes ended"]


def test_a_bug_hunt(berries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check says where an observation went below zero; the trace of that env shows the step in which it did."""
    finding = next(f for f in warpworld.check("berries.py", steps=20).findings if f.kind == "observation")
    assert finding.index[0] == finding.env
    words = ["--steps", "20", "--trace", str(finding.env), "--output", "hunt.csv", "--arrays", "observations,berries"]
    assert main(["run", "berries.py", *words]) == 0
    below = [row for row in rows("hunt.csv") if float(row["observations[0]"]) < 0]
    assert (int(below[0]["step"]), int(below[0]["agent"])) == (finding.step, finding.index[1])
    assert min(int(below[0][f"berries[{place}]"]) for place in range(3)) < 0


def test_a_registered_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "cartpole", "--steps", "2", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.startswith("cartpole: 5 envs of 1 agent on cpu, seed 0\n2 steps of each env; ")


def test_a_module_as_a_process(berries: Path) -> None:
    command = [sys.executable, "-m", "warpworld", "run", "berries:Berries", "--steps", "2", "--device", "cpu"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Berries: 5 envs of 4 agents on cpu, seed 0\n2 steps of each env; ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cartpol"], "unknown environment 'cartpol'. Did you mean 'cartpole'?"),
        (["berries.py", "forager=2"], "Berries: no parameter 'forager'. Did you mean 'foragers'?"),
        (["berries.py", "--trace", "5"], "env 5 cannot be traced: the world has envs 0 to 4"),
        (["berries.py", "--output", "x.csv"], "--output and --arrays are about a trace; say of which env: --trace 0"),
        (["berries.py", "--trace", "0", "--arrays", "plce"], "no array 'plce' to trace. Did you mean 'place'?"),
        (
            ["berries.py", "--trace", "0", "--output", "berries.cu"],
            "'berries.cu' is there already and is no trace; give another name, or remove it",
        ),
        (["berries.py", "--trace", "0", "--output", "no/x.csv"], "'no/x.csv' cannot be written: No such file"),
    ],
)
def test_mistakes_are_told_in_a_line_with_status_2(
    berries: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kernels = (berries.parent / "berries.cu").read_text()
    assert main(["run", *words, "--device", "cpu"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert (berries.parent / "berries.cu").read_text() == kernels


def test_a_fault_is_told_and_the_trace_ends_before_it(berries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, line = berries.with_suffix(".cu"), "  place[i] = here;"
    path.write_text(path.read_text().replace(line, f"  assert(timestep[env_id()] < 5);\n{line}"))
    assert main(["run", "berries.py", "--device", "cpu", "--trace", "1"]) == 2
    told, error = capsys.readouterr().err.splitlines()
    assert told == "Berries-env1.csv ends with step 4, the last before the fault"
    assert "kernel 'step', env 0, agent 0: assertion failed: timestep[env_id()] < 5" in error
    assert rows("Berries-env1.csv")[-1]["step"] == "4"
