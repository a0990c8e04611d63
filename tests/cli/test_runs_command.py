"""`warpworld runs`: a line for each run, chosen and sorted, and what is no run or damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runs.test_summaries import logged
from warpworld.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs in ``runs`` of the working folder; c began first, then a, then b."""
    monkeypatch.chdir(tmp_path)
    for name, best, words in [
        ("a", 30.0, ["seed=1"]),
        ("b", 90.0, ["seed=2", "saving.tags=[base, long]"]),
        ("c", 60.0, ["seed=3", "gamma=0.5"]),
    ]:
        run = logged(tmp_path / "made", [20.0, best, 25.0], *words)
        (tmp_path / "runs").mkdir(exist_ok=True)
        run.path = run.path.rename(tmp_path / "runs" / name)
        (run.path / "machine.json").write_text(json.dumps([{"started": f"2026-01-01T0{'cab'.index(name)}"}]))
        run.close()
    return tmp_path / "runs"


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["runs", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == [
        "run  state    env steps  last return  best return  tags       differs in",
        "c    stopped  96         25.00        60.00                   seed 3, gamma 0.5",
        "a    stopped  96         25.00        30.00                   seed 1, gamma 0.99",
        "b    stopped  96         25.00        90.00        base long  seed 2, gamma 0.99",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sort", "best"], "bca"),
        (["--sort", "best", "--reverse"], "acb"),
        (["--sort", "run"], "abc"),
        (["--sort", "seed"], "cba"),
        (["--sort", "saving.directory"], "abc"),
        (["seed=2"], "b"),
        (["trainer.seed=2"], "b"),
        (["gamma=0.99", "--sort", "run"], "ab"),
        (["gamma=5e-1"], "c"),
        (["tag=base"], "b"),
        (["tag=l*", "seed=1"], ""),
        (["environment=cart*", "state=stopped", "--sort", "run"], "abc"),
        (["runs", "runs/a", "seed=1"], "aa"),
    ],
    ids=" ".join,
)
def test_choosing_and_sorting(
    folder: Path, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "--json", *words]) == 0
    assert "".join(Path(run["path"]).name for run in json.loads(capsys.readouterr().out)) == expected


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "runs", "--json", "tag=base"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "path": "runs/b",
            "environment": "cartpole",
            "state": "stopped",
            "started": "2026-01-01T02",
            "tags": ["base", "long"],
            "env_steps": 96,
            "total_env_steps": 192,
            "returns": {"agent": {"last": 25.0, "best": 90.0}},
            "differs": {"trainer.seed": "2", "policy.agent.gamma": "0.99"},
            "problem": "",
        }
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["nowhere"],
            "'nowhere' cannot be read: No such file or directory; expected a folder with run folders",
        ),
        (
            ["sed=1"],
            "no run has a setting 'sed'. Did you mean 'seed'? Also known: run, environment, state, started, steps, "
            "last, best, tag",
        ),
        (
            ["--sort", "bst"],
            "no run has a setting 'bst'. Did you mean 'best'? Also known: run, environment, state, started, steps, "
            "last, best",
        ),
        (["=1"], "'=1': expected key=value, for instance state=finished or seed=1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(folder: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", *words]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, str(tmp_path)) == [f"no run in {tmp_path}"]


def test_a_folder_in_which_nothing_was_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert listed(capsys) == ["no folder runs here; warpworld train CONFIG makes the first run in it"]
    assert listed(capsys, "--json") == ["[]"]


def test_none_that_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "state=finished", "seed=1") == ["no run in runs has state=finished and seed=1"]


def test_damaged_runs_and_hostile_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = folder / "\x1b[31m<b>\n"
    hostile.mkdir()
    (hostile / "config.yaml").write_text("name: [")
    assert main(["runs", "--sort", "run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("\\x1b[31m<b>\\n  unreadable  0 ")
    assert err.startswith("runs/\\x1b[31m<b>\\n/config.yaml, line 1: YAML syntax error: ")
    assert len(err.splitlines()) == 1
