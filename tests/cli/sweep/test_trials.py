"""Trials of a study: values, pruning, interruptions, trials of workers that died, and mistakes that show late."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warpworld.cli.main import main
from warpworld.errors import SweepError
from warpworld.runs import Run
from warpworld.runs.folder import RunFolder
from warpworld.runs.summary import summarise

pytest.importorskip("optuna", reason="the extra 'sweep' is not installed")

import optuna

from warpworld.cli.sweep import study as module_study
from warpworld.cli.sweep import trials as module
from warpworld.cli.sweep.startup import STARTUP_TRIALS
from warpworld.cli.sweep.study import open_study
from warpworld.cli.sweep.sweep_file import SweepFile
from warpworld.cli.sweep.trials import FIRST, RUN, WHY, Trials
from warpworld.cli.sweep.worker_processes import Workers

pytestmark = pytest.mark.cpu_backend
PRUNED = optuna.trial.TrialState.PRUNED

TEXT = """\
config: cartpole
overrides: [num_envs=4, num_steps=16, total_env_steps=256, num_minibatches=1, device=cpu, trainer.num_workers=1]
search:
  learning_rate: {log_range: [1.0e-4, 1.0e-2]}
  gamma: {values: [0.9, 0.99]}
sampler: random
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sweep_of(more: str = "", text: str = TEXT) -> SweepFile:
    Path("rates.yaml").write_text(text + more)
    return SweepFile("rates.yaml")


@pytest.mark.heavy
def test_a_sweep_is_a_run_for_each_trial(capfd: pytest.CaptureFixture[str]) -> None:
    sweep_of("trials: 2\npruner: none\n")
    assert main(["sweep", "rates.yaml", "--jobs", "2"]) == 0
    printed = capfd.readouterr().out
    assert "sweep rates: 2 trials in sqlite:///runs/rates.db" in printed and "what matters: " in printed
    assert (Path("runs") / "rates.png").read_bytes()[:4] == b"\x89PNG"
    trials = open_study(SweepFile("rates.yaml")).trials
    for trial in trials:
        run = summarise(RunFolder.open(trial.user_attrs[RUN]))
        agent = run.settings["policy"]["agent"]
        assert run.state == "finished" and run.name.startswith(f"rates-trial-{trial.number}-")
        assert agent["learning_rate"] == pytest.approx(trial.params["learning_rate"], rel=1e-5)
        assert agent["gamma"] == float(trial.params["gamma"]) and trial.value > 0
    assert main(["sweep", "rates.yaml"]) == 0  # nothing is left to train
    assert [trial.number for trial in open_study(SweepFile("rates.yaml")).trials] == [0, 1]


@pytest.mark.heavy
def test_a_trial_that_is_cut_off_returns_to_the_study() -> None:
    file = sweep_of("trials: 1\n")
    asked = iter([False, True])
    assert list(Trials(file, open_study(file), Workers(1, quiet=True)).run(lambda: next(asked))) == []
    study = open_study(file)
    assert [trial.state.name for trial in study.trials] == ["FAIL", "WAITING"]
    (ended,) = Trials(file, study, Workers(1, quiet=True)).run(lambda: False)
    assert ended.number == 1 and ended.params == study.trials[0].params and ended.user_attrs[FIRST] == 0
    assert "rates-trial-0-" in ended.user_attrs[RUN]


@pytest.mark.long
def test_a_trial_of_a_dead_worker_returns_to_the_study() -> None:
    file = sweep_of("trials: 1\n")
    study = open_study(file)
    trial = study.ask(module.distributions(file))
    trial.set_user_attr(FIRST, trial.number)
    module._record_heartbeat(study, trial)
    others = Trials(file, study, Workers(1, quiet=True))
    others._beat()
    assert not others._missing() and others._others()  # its worker may be alive
    with sqlite3.connect("runs/rates.db") as database:
        database.execute("update trial_heartbeats set heartbeat = '2020-01-01 00:00:00'")
    others = Trials(file, study, Workers(1, quiet=True))
    others._beat()
    assert [found.state.name for found in study.trials] == ["FAIL", "WAITING"]
    again = study.ask(module.distributions(file))
    assert again.params == trial.params and again.user_attrs[FIRST] == 0


@pytest.mark.long
def test_values_that_do_not_go_together_fail_before_they_train() -> None:
    pair = "num_steps: {values: [2, 16]}\n  num_minibatches: {values: [1, 64]}"
    file = sweep_of("trials: 1\n", TEXT.replace("gamma: {values: [0.9, 0.99]}", pair))
    study = open_study(file)
    study.enqueue_trial({"learning_rate": 1e-3, "num_steps": "2", "num_minibatches": "64"})
    (failed,) = Trials(file, study, Workers(1, quiet=True)).run(lambda: False)
    assert failed.state.name == "FAIL" and failed.user_attrs[WHY] == (
        "command line, policy.agent.num_minibatches=64: policy.agent.num_minibatches is 64, expected a divisor of the "
        "8 rows of a rollout: num_envs 4 x num_steps 2 x 1 agent"
    )


def test_a_trial_that_others_have_left_behind_is_ended() -> None:
    file = sweep_of()
    study = open_study(file)
    study.pruner = optuna.pruners.ThresholdPruner(lower=10.0)
    run = Run.create(file.base)
    stopped: list[bool] = []
    training: Any = SimpleNamespace(run=run, config=file.base, stop=lambda: stopped.append(True))
    entry = module._Running(study.ask(module.distributions(file)), training)
    for env_steps, earned in ((64, 30.0), (128, 4.0)):
        assert not entry.pruned
        run.log({"iteration": env_steps // 64, "env_steps": env_steps, "charts/agent/episodic_return": earned})
        Trials(file, study, Workers(1, quiet=True))._follow(entry)
    run.close()
    assert entry.pruned and stopped == [True]
    assert study.trials[0].intermediate_values == {25: 30.0, 50: 4.0}


def test_a_trial_that_time_ends_is_compared_by_its_seconds() -> None:
    file = sweep_of(text=TEXT.replace("device=cpu", "device=cpu, trainer.stop_when.seconds=50"))
    study = open_study(file)
    run = Run.create(file.base)
    training: Any = SimpleNamespace(run=run, config=file.base)
    entry = module._Running(study.ask(module.distributions(file)), training)
    for env_steps, seconds in ((64, 5.0), (128, 40.0), (192, 50.5)):
        counters = {"iteration": env_steps // 64, "env_steps": env_steps, "time": seconds}
        run.log({**counters, "charts/agent/episodic_return": seconds})
        Trials(file, study, Workers(1, quiet=True))._follow(entry)
    run.close()
    assert list(study.trials[0].intermediate_values) == [25, 80, 100]


def test_a_trial_of_few_episodes_is_not_compared() -> None:
    file = sweep_of()
    study = open_study(file)
    run = Run.create(file.base)
    training: Any = SimpleNamespace(run=run, config=file.base)
    entry = module._Running(study.ask(module.distributions(file)), training)
    for env_steps, episodes, earned in ((64, 1, 30.0), (128, 150, 4.0)):
        counted = {"charts/episodes": episodes, "charts/agent/episodic_return": earned}
        run.log({"iteration": env_steps // 64, "env_steps": env_steps, **counted})
        Trials(file, study, Workers(1, quiet=True))._follow(entry)
    run.close()
    assert study.trials[0].intermediate_values == {50: 4.0}


@pytest.mark.parametrize("name", ["asha", "hyperband"])
def test_no_trial_is_ended_before_some_are_complete(name: str) -> None:
    # Hyperband assigns trials to its brackets by the study's name, which is random unless it is given
    study = optuna.create_study(study_name="a", pruner=module_study._pruner(name), direction="maximize")
    ended = []
    for number in range(STARTUP_TRIALS + 5):
        trial = study.ask()
        trial.report(100.0 - number, 10)  # each worse than the ones before
        ended.append(trial.should_prune())
        study.tell(trial, 100.0 - number if not ended[-1] else None, state=None if not ended[-1] else PRUNED)
    assert not any(ended[:STARTUP_TRIALS])
    assert any(ended[STARTUP_TRIALS:])


@pytest.mark.heavy
def test_an_objective_that_no_run_writes() -> None:
    file = sweep_of("trials: 1\nobjective: charts/agent/episodic_retrun\n")
    with pytest.raises(SweepError) as caught:
        list(Trials(file, open_study(file), Workers(1, quiet=True)).run(lambda: False))
    assert str(caught.value).startswith(
        "no run writes the objective 'charts/agent/episodic_retrun'. Did you mean 'charts/agent/episodic_return'? "
        "Known: charts/episodes, charts/episodic_length, "
    )


@pytest.mark.long
def test_a_study_of_another_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    open_study(sweep_of())
    sweep_of(text=TEXT.replace("num_envs=4", "num_envs=8").replace("0.99]", "0.95]"))
    assert main(["sweep", "rates.yaml"]) == 2
    assert capsys.readouterr().err == (
        "error: study 'rates' in 'sqlite:///runs/rates.db' is of another sweep: trainer.num_envs is 4 there and 8 "
        "here; search.gamma.values is [0.9, 0.99] there and [0.9, 0.95] here. Give this one another name or storage\n"
    )


def test_a_sampler_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpworld.cli.sweep.study.find_spec", lambda name: None)
    with pytest.raises(SweepError) as caught:
        open_study(sweep_of(text=TEXT.replace("random", "gp")))
    assert str(caught.value) == "sampler: gp needs the package scipy, which is not installed: pip install scipy"


def test_without_optuna(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_of()
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["sweep", "rates.yaml"]) == 2
    assert capsys.readouterr().err == (
        "error: sweeps need the package optuna, which is not installed: pip install 'warpworld[sweep]'\n"
    )


def test_another_worker_may_be_making_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.exc import IntegrityError

    failures = iter([IntegrityError("insert", {}, Exception("UNIQUE constraint failed"))])
    create = optuna.create_study

    def create_later(**given: Any) -> Any:
        for failure in failures:
            raise failure
        return create(**given)

    monkeypatch.setattr("warpworld.cli.sweep.study.OPEN_SECONDS", 0)
    monkeypatch.setattr(optuna, "create_study", create_later)
    assert open_study(sweep_of()).study_name == "rates"


def test_a_storage_that_cannot_be_opened() -> None:
    with pytest.raises(SweepError, match=r"^storage 'nosql://x/y' cannot be opened: ") as caught:
        open_study(sweep_of("storage: nosql://x/y\n"))
    assert "\n" not in str(caught.value)
