"""`warpworld bench NAME`: environments of all kinds, parameters and commits, measured in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.bench.git import git
from warpworld.cli.bench.checkout import checked_out
from warpworld.cli.main import main

pytestmark = [pytest.mark.cpu_backend, pytest.mark.heavy]

SHORT = ["--seconds", "0.001", "--envs", "8", "--device", "cpu"]


def test_both_commits_are_run_and_nothing_is_left(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "rows.json"
    assert main(["bench", "steady.py", "--against", "HEAD~1", "--save", str(saved), *SHORT]) == 0
    rows = json.loads(saved.read_text())["rows"]
    assert [(row["side"], row["num_agents"]) for row in rows] == [("steady.py", 5), ("steady.py at HEAD~1", 3)]
    assert rows[1]["commit"] == git(repository, "rev-parse", "HEAD~1")
    assert all(len(row["seconds"]) == 7 and min(row["seconds"]) > 0 for row in rows)
    assert "times as fast (" in capsys.readouterr().out
    assert git(repository, "worktree", "list").count("\n") == 0 and git(repository, "status", "--short") == ""


def test_nothing_is_left_by_a_process_that_is_asked_to_end(repository: Path) -> None:
    words = ["bench", "steady.py", "--against", "HEAD~1", "--seconds", "60", "--envs", "8", "--device", "cpu"]
    process = subprocess.Popen([sys.executable, "-m", "warpworld", *words])
    try:
        deadline = time.monotonic() + 60
        while git(repository, "worktree", "list").count("\n") == 0:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    finally:
        process.kill()
    assert git(repository, "worktree", "list").count("\n") == 0


def test_what_git_has_left_locked_is_removed(repository: Path) -> None:
    with checked_out("HEAD~1", repository) as there:
        git(repository, "worktree", "lock", str(there.top))  # as it is while git adds it
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_commit_that_is_not_there(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "steady.py", "--against", "mian", *SHORT]) == 2
    assert f"error: no commit 'mian' in {repository.resolve()}. Did you mean 'main'?" in capsys.readouterr().err


def test_a_folder_that_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "cartpole", "--against", "HEAD", *SHORT]) == 2
    assert f"error: {tmp_path} is in no git repository" in capsys.readouterr().err


def test_an_environment_that_the_other_commit_lacks(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "envs" / "steady.py").rename(repository / "envs" / "other.py")
    assert main(["bench", "other.py", "--against", "HEAD", *SHORT]) == 2
    assert capsys.readouterr().err.startswith("error: other.py at HEAD: ")
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("name", ["cartpole", "ABSOLUTE"])
def test_code_that_no_commit_of_the_repository_changes_is_not_compared(
    repository: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(repository / "envs" / "steady.py") if name == "ABSOLUTE" else name
    assert main(["bench", name, "--against", "HEAD~1", *SHORT]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith(f"error: {name} at HEAD~1: its code is /") and "in every commit, expected a file" in error
    assert git(repository, "worktree", "list").count("\n") == 0


def test_an_environment_that_prints_and_one_that_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (repository / "envs" / "steady.py").read_text()
    phase = "\n    def _say(self, arrays, active):\n        print('here')\n"
    chatty = text.replace('return ["step"]', 'return ["step", self._say]') + phase
    Path("steadily.py").write_text(chatty)
    assert main(["bench", "steadily.py", *SHORT]) == 0
    Path("failing.py").write_text(chatty.replace("print('here')", "assert arrays['clock'][0] < 40"))
    assert main(["bench", "failing.py", *SHORT]) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("error: failing.py: ")


def test_several_environments_and_a_parameter(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "cartpole", "steady.py", *SHORT]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["cartpole", "1"], ["steady.py", "5"]]
    assert main(["bench", "steady.py", "--vary", "env.agents=2,7", *SHORT]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["steady.py,", f"env.agents={n}", str(n)] for n in (2, 7)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["steady.py", "agnets=3"], "error: steady.py has no parameter 'agnets'. Did you mean 'agents'?"),
        (["steady.py", "--vary", "agnets=3,4"], "error: steady.py has no parameter 'agnets'. Did you mean 'agents'?"),
        (["steady.py", "--vary", "agents=3"], "error: --vary agents=3: expected a key and at least two values"),
        (["steady.py", "agents=0"], "error: steady.py: "),
        (["cartpoll"], "Did you mean 'cartpole'"),
    ],
)
def test_mistakes_cost_a_line(
    repository: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words, *SHORT]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["agents=3"],
        ["--vary", "a=1,2"],
        ["cartpole", "--vary", "a=1,2", "--against", "HEAD"],
    ],
)
def test_words_that_do_not_go_together(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *words])
    assert ended.value.code == 2


@pytest.mark.parametrize("words", [["--only", "adapters"], ["cartpole", "--only", "adapters"]])
def test_a_table_of_the_repository_is_asked_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    assert capsys.readouterr().err == (
        "error: --only adapters: the tables beside other libraries are not in the installed package; in a checkout of "
        "the repository run: python -m benchmarks --only adapters\n"
    )


def test_nothing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench"])
    assert "bench cartpole; the tables beside other libraries are in the repository: python -m benchmarks\n" in (
        capsys.readouterr().err
    )
