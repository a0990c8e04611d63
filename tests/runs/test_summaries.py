"""Runs in a line each: state, steps, returns, and labels that say what differs."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest

import warpworld
from warpworld.config import load_config
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run, RunFolder
from warpworld.runs.differences import differing, labels
from warpworld.runs.summary import Returns, run_folders, summarise

SMALL = ("trainer.num_envs=4", "trainer.num_steps=8", "trainer.total_env_steps=200", "policy.agent.num_minibatches=1")


def logged(folder: Path, returns: list[float | None], *words: str, name: str = "cartpole") -> Run:
    """A run of CartPole, 32 env steps an iteration, that logged these returns."""
    run = Run.create(load_config(name, [*SMALL, *words]), folder)
    for i, value in enumerate(returns, 1):
        run.log({"iteration": i, "env_steps": 32 * i, "charts/agent/episodic_return": value})
    return run


def test_a_run_that_trains_stops_and_finishes(tmp_path: Path) -> None:
    run = logged(tmp_path, [None, 20.0, 31.5, 30.0])
    summary = summarise(run)
    assert (summary.state, summary.env_steps, summary.total) == ("training", 128, 192)
    assert summary.returns == {"agent": Returns(last=30.0, best=31.5)}
    assert summary.problem == ""
    run.close()
    assert summarise(run).state == "stopped"
    for i in (5, 6):
        run.log({"iteration": i, "env_steps": 32 * i})
    run.close()
    assert summarise(run).state == "finished"


def test_a_listing_at_that_moment_does_not_keep_a_run_from_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = logged(tmp_path, [])
    run.close()
    with (run.path / ".lock").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr("warpworld.runs.run.time.sleep", lambda seconds: looking.close())
        run.lock()
    assert summarise(run).state == "training"
    run.close()


def test_a_run_without_metrics_counts_its_checkpoints(tmp_path: Path) -> None:
    run = logged(tmp_path, [])
    run.save_checkpoint(6, {})
    run.close()
    summary = summarise(run)
    assert (summary.state, summary.env_steps, summary.returns) == ("finished", 192, {})


@pytest.mark.parametrize(
    "text",
    [
        '{"env_steps": 32, RETURN: NaN}\n{"env_steps": 64, RETURN: 3}\n',
        '{"env_steps": 32, RETURN: 3.0}\n{"env_steps": 64, RETURN: null}\n',
        '{"env_steps": 64, RETURN: 3}\n{"env_st',
        '{"env_steps": 64, RETURN: 3}\n{"env_steps": 9, RETURN: 4',
        '{"env_steps": 64, RETURN: 3, "x": 1}\n{RETURN: -Infinity}\n',
        '{"env_steps": 64, RETURN: 3, "x": 1}\n{RETURN: 1e999}\n',
    ],
    ids=["NaN", "null", "cut short", "cut in a number", "infinite", "too large"],
)
def test_holes_in_metrics_are_passed_over(tmp_path: Path, text: str) -> None:
    run = logged(tmp_path, [])
    run.close()
    run.metrics_path.write_text(text.replace("RETURN", '"charts/agent/episodic_return"'))
    summary = summarise(run)
    assert summary.returns == {"agent": Returns(3.0, 3.0)}
    assert (summary.env_steps, summary.problem) == (64, "")


def test_what_cannot_be_read_is_a_problem_of_its_run_alone(tmp_path: Path) -> None:
    for name in ("a", "b", "c", ".hidden", "no-run"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "a" / "config.yaml").write_text("name: [")
    (tmp_path / "b" / "config.yaml").write_text("")
    (tmp_path / ".hidden" / "config.yaml").write_text("")
    good = logged(tmp_path / "c", [1.0])
    good.close()
    (good.path / "metrics.jsonl").unlink()
    (good.path / "metrics.jsonl").mkdir()
    found = run_folders(tmp_path)
    assert [run.path.name for run in found] == ["a", "b"]
    assert [summarise(run).state for run in found] == ["unreadable", "unreadable"]
    assert summarise(found[1]).problem == (
        f"{found[1].config_path} is empty, expected the sections name, env, trainer, policy and saving"
    )
    summary = summarise(good)
    assert (summary.state, summary.env_steps) == ("stopped", 0)
    assert summary.problem == f"'{good.metrics_path}' cannot be read: it is a folder, expected a file"


def test_a_run_of_a_newer_version_is_listed(tmp_path: Path) -> None:
    run = logged(tmp_path, [2.0])
    run.close()
    text = run.config_path.read_text()
    run.config_path.write_text(text.replace("trainer:\n", "trainer:\n  warp_factor: 9\n") + "future: {a: 1}\n")
    assert summarise(RunFolder(run.path)).returns == {"agent": Returns(2.0, 2.0)}


@pytest.mark.parametrize(
    ("version", "end"),
    [
        ("99.1", f"; the run is of warpworld 99.1, and this is {warpworld.__version__}: install that version"),
        ("0.0", ""),
    ],
)
def test_opening_a_run_of_a_newer_version(tmp_path: Path, version: str, end: str) -> None:
    run = logged(tmp_path, [])
    run.close()
    run.config_path.write_text(run.config_path.read_text().replace("  seed: 1\n", "  seed: 1\n  warp: 9\n"))
    run.machine_path.write_text(json.dumps([{"warpworld": version}]))
    with pytest.raises(ConfigError) as raised:
        Run.open(run.path)
    where, _, message = str(raised.value).partition(": ")
    assert where.startswith(f"{run.config_path}, line ")
    assert message.partition(". ")[0] == "trainer.warp is not a known key"
    assert message.partition("patience")[2] == end


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(RunError) as raised:
        run_folders(tmp_path / "nowhere")
    assert str(raised.value) == (
        f"'{tmp_path / 'nowhere'}' cannot be read: No such file or directory; expected a folder with run folders"
    )


def settings(*words: str, name: str = "cartpole") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(load_config(name, words).to_dict()))
    return found


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([settings("trainer.seed=1"), settings("trainer.seed=2")], ["seed 1", "seed 2"]),
        (
            [settings("trainer.seed=1", "policy.agent.gamma=0.9"), settings("trainer.seed=2")],
            ["seed 1, gamma 0.9", "seed 2, gamma 0.99"],
        ),
        ([settings(), settings()], ["x", "y"]),
        ([settings(), settings(), settings("trainer.seed=2")], ["seed 1 (x)", "seed 1 (y)", "seed 2"]),
        ([settings(), settings(name="pendulum")], ["cartpole", "pendulum"]),
        ([settings("saving.directory=a"), settings("saving.directory=b")], ["x", "y"]),
        ([settings(), {}], ["cartpole", "-"]),
    ],
    ids=["seeds", "two keys", "nothing", "some alike", "environments", "only the folder", "unreadable"],
)
def test_labels_say_what_differs(runs: list[dict[str, Any]], expected: list[str]) -> None:
    assert labels(runs, ["x", "y", "z"][: len(runs)]) == expected


def test_keys_that_end_alike_keep_their_policy() -> None:
    runs = [
        settings("policy.tagger.gamma=0.9", "policy.runner.gamma=0.8", name="tag_gridworld"),
        settings("policy.tagger.gamma=0.5", name="tag_gridworld"),
    ]
    assert labels(runs, ["x", "y"]) == ["tagger.gamma 0.9, runner.gamma 0.8", "tagger.gamma 0.5, runner.gamma 0.99"]
    assert differing(runs) == {"policy.tagger.gamma": ["0.9", "0.5"], "policy.runner.gamma": ["0.8", "0.99"]}


def test_labels_of_a_sweep_name_trials_and_have_four_digits() -> None:
    runs = [
        settings(f"policy.agent.learning_rate={rate}", "total_env_steps=20_000_000", f"saving.name=rates-trial-{trial}")
        for trial, rate in ((0, 0.00031622776601683794), (12, 0.00271828182845))
    ]
    assert labels(runs, ["x", "y"]) == ["trial 0: learning_rate 0.0003162", "trial 12: learning_rate 0.002718"]


def test_labels_that_four_digits_make_alike_have_the_folders_name() -> None:
    runs = [settings(f"policy.agent.gamma={gamma}") for gamma in (0.99001, 0.99002)]
    assert labels(runs, ["x", "y"]) == ["gamma 0.99 (x)", "gamma 0.99 (y)"]
