"""``stop_when.seconds``: when it ends a run, what such a run leaves, and what a resumed one counts."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from tests.runs.processes import differences
from tests.trainers.together import Unwritten, together
from warpworld.cli.main import main
from warpworld.config import RunConfig, config_from_dict
from warpworld.runs import Run
from warpworld.runs.summary import summarise
from warpworld.trainers import trainer as module
from warpworld.trainers.collecting import Collector
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.trainer import Trainer

SECONDS = 10.0  # of each rollout, by the clock of these tests


def configured(seconds: float | None, iterations: int = 7, **saving: Any) -> RunConfig:
    limit = {} if seconds is None else {"stop_when": {"seconds": seconds}}
    trainer = {"num_envs": 4, "num_steps": 8, "total_env_steps": 32 * iterations, "device": "auto", **limit}
    return config_from_dict({
        "name": "cartpole",
        "trainer": trainer,
        "policy": {"agent": {"num_minibatches": 2, "update_epochs": 1}},
        "saving": saving,
    })  # fmt: skip


def let_rollouts_take(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the training a clock that moves during rollouts only."""
    now, collect = [0.0], Collector.collect

    def collected(collector: Collector) -> None:
        collect(collector)
        now[0] += seconds

    monkeypatch.setattr(Collector, "collect", collected)
    monkeypatch.setattr(module, "time", types.SimpleNamespace(perf_counter=lambda: now[0], process_time=lambda: now[0]))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    let_rollouts_take(SECONDS, monkeypatch)


def unwritten(config: RunConfig, group: ProcessGroup = ALONE, iterations: int = 99) -> tuple[Trainer, Unwritten]:
    trainer, run = Trainer(config, processes=group), Unwritten()
    trainer.train(run, stop=lambda: trainer.iteration == iterations)  # type: ignore[arg-type]
    return trainer, run


@pytest.mark.parametrize(("limit", "iterations"), [(0.5, 1), (10.0, 1), (10.5, 2), (30.0, 3), (69.0, 7)])
def test_the_run_ends_after_the_first_iteration_that_ends_at_or_after_the_limit(limit: float, iterations: int) -> None:
    trainer, run = unwritten(configured(limit))
    assert (trainer.iteration, trainer.is_finished) == (iterations, True)
    assert trainer.ending == f"trainer.stop_when is reached: {10 * iterations:.2f} seconds of training"
    assert run.ending == trainer.ending


def test_the_budget_may_end_it_first() -> None:
    trainer, run = unwritten(configured(71.0))
    assert (trainer.iteration, trainer.is_finished, trainer.ending) == (7, True, "")
    assert not hasattr(run, "ending")


def test_the_last_iteration_is_logged_evaluated_and_saved() -> None:
    trainer, run = unwritten(configured(30.0, log_every=5, checkpoint_every=5, eval_every=5, eval_episodes=4))
    assert [line["iteration"] for line in run.lines] == [3]
    assert {"charts/agent/episodic_return", "losses/agent/policy_loss", "eval/agent/score"} <= run.lines[0].keys()
    assert list(run.states) == [0, 3]
    assert trainer.evaluations.state.best["agent"].iteration == 3


def test_the_run_up_to_there_is_that_of_a_run_without_a_limit() -> None:
    trainers = unwritten(configured(30.0))[0], unwritten(configured(None), iterations=3)[0]
    states = [{**trainer.state_dict(), "config": ""} for trainer in trainers]
    assert differences(*states) == []


def begun(config: RunConfig, folder: Path, iterations: int) -> Run:
    """A run that was stopped after some iterations."""
    trainer = Trainer(config)
    run = trainer.create_run(folder)
    assert run is not None
    trainer.train(run, stop=lambda: trainer.iteration == iterations)
    return run


def resumed(config: RunConfig, run: Run) -> Trainer:
    trainer = Trainer(config, initial_weights=False)
    trainer.resume(run)
    return trainer


def test_a_resumed_run_counts_the_seconds_before(tmp_path: Path) -> None:
    run = begun(configured(40.0), tmp_path, 3)
    assert not run.ending_path.exists()
    trainer = resumed(configured(40.0), run)
    trainer.train(run)
    run.close()
    assert trainer.iteration == 4
    assert run.ending_path.read_text() == "trainer.stop_when is reached: 40.00 seconds of training\n"


def test_a_run_whose_time_is_up_is_finished_until_it_gets_more(tmp_path: Path) -> None:
    run = begun(configured(20.0), tmp_path, 9)
    run.close()
    trainer = resumed(configured(20.0), run)
    assert trainer.is_finished and trainer.train(run) == {}
    assert summarise(run).state == "finished"
    later = resumed(configured(50.0), run)
    assert not later.is_finished and not run.ending_path.exists()
    later.train(run)
    run.close()
    assert later.iteration == 5


@pytest.mark.long
def test_the_command_says_why_it_ended_and_how_to_train_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["num_envs=4", "num_steps=8", "total_env_steps=320", "num_minibatches=1"]
    assert main(["train", "cartpole", *sizes, "stop_when.seconds=15", "--run", str(tmp_path / "run")]) == 0
    reached = "trainer.stop_when is reached: 20.00 seconds of training"
    assert f"ended early     {reached}" in capsys.readouterr().out
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"run '{tmp_path / 'run'}' is finished after 64 env steps: {reached}.",
        "To train on, change that:",
        f"warpworld train --resume {tmp_path / 'run'} trainer.stop_when={{}} trainer.patience=null",
    ]


def ended_at(group: ProcessGroup, config: RunConfig) -> tuple[int, str]:
    with pytest.MonkeyPatch.context() as patch:
        let_rollouts_take(SECONDS / (1 + group.rank), patch)
        trainer, _ = unwritten(config, group)
    return trainer.iteration, trainer.ending


@pytest.mark.long
@pytest.mark.heavy
@pytest.mark.cpu_backend  # its processes know nothing of --stand-in
def test_the_first_of_several_processes_decides(tmp_path: Path) -> None:
    """The second one's clock is half as fast."""
    expected = 3, "trainer.stop_when is reached: 30.00 seconds of training"
    assert together(2, tmp_path / "two", ended_at, configured(30.0)) == [expected, expected]
