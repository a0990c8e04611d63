"""Loggers that a config names as ``module:Class``: what a run passes to them, and what it keeps where one fails."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.own_loggers import CALLS
from tests.runs.processes import SMALL, finish_group, run_folder, said
from warpworld.cli.main import main
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import LoggerError
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer

OWN = "tests.runs.own_loggers"
EVENTS = "events.out.tfevents.*"


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[tuple[Any, ...]]]:
    CALLS.clear()
    yield CALLS
    CALLS.clear()


def with_loggers(config: RunConfig, *names: str, **saving: Any) -> RunConfig:
    """The config with loggers of this module's neighbour, or packaged ones in small letters."""
    loggers = [name if name.islower() else f"{OWN}:{name}" for name in names]
    data = config.to_dict()
    return config_from_dict({**data, "saving": {**data["saving"], "loggers": loggers, **saving}})


def trained(config: RunConfig, folder: Path, iterations: int = 6) -> Run:
    """A closed run after some iterations."""
    trainer = Trainer(config)
    run = trainer.create_run(folder)
    assert run is not None
    try:
        trainer.train(run, stop=lambda: trainer.iteration == iterations)
    finally:
        run.close()
    return run


def only_run(folder: Path) -> Run:
    (path,) = folder.iterdir()
    return Run.open(path)


def lines(run: Run) -> list[dict[str, Any]]:
    """The lines of both files of metrics, joined."""
    both = [path.read_text().splitlines() for path in (run.metrics_path, run.timing_path)]
    return [{**json.loads(one), **json.loads(other)} for one, other in zip(*both, strict=True)]


def logged() -> list[int]:
    return [call[2]["iteration"] for call in CALLS if call[0] == "log"]


# ---- what is passed --------------------------------------------------------------------------------------------------
def test_a_logger_gets_the_lines_of_the_files(config: RunConfig, tmp_path: Path) -> None:
    run = trained(with_loggers(config, "Keeps"), tmp_path, 2)
    assert [call[0] for call in CALLS] == ["log", "sync", "log", "sync", "close"]
    passed = [call[2] for call in CALLS if call[0] == "log"]
    assert passed == lines(run)
    assert {call[1] for call in CALLS if call[0] == "log"} == {run.path.name}
    assert {type(value) for line in passed for value in line.values()} <= {int, float, type(None)}
    assert not list(run.path.glob(EVENTS))  # the list leaves TensorBoard out


def test_numbers_that_are_not_finite_are_none(config: RunConfig, tmp_path: Path) -> None:
    run = Run.create(with_loggers(config, "Keeps"), tmp_path)
    run.log({"iteration": 1, "env_steps": 32, "a": math.nan, "b": -math.inf, "c": 1.5})
    run.close()
    assert CALLS[0][2] == {"iteration": 1, "env_steps": 32, "a": None, "b": None, "c": 1.5}


def test_without_loggers_the_files_are_the_same(config: RunConfig, tmp_path: Path) -> None:
    runs = [trained(with_loggers(config, *names), tmp_path, 3) for names in ((), ("tensorboard", "Keeps"))]
    texts = [run.metrics_path.read_bytes() for run in runs]
    assert texts[0] == texts[1]
    assert [len(list(run.path.glob(EVENTS))) for run in runs] == [0, 1]


@pytest.mark.long
def test_a_resumed_run_rewinds_its_loggers(config: RunConfig, tmp_path: Path) -> None:
    run = trained(with_loggers(config, "Keeps"), tmp_path, 3)
    CALLS.clear()
    assert main(["train", "--resume", str(run.path)]) == 0
    assert CALLS[0] == ("rewind", 3, 96)
    assert logged() == [4, 5, 6]
    assert CALLS[-1] == ("close",)


@pytest.mark.long
def test_loggers_may_change_when_a_run_is_resumed(config: RunConfig, tmp_path: Path) -> None:
    run = trained(config, tmp_path, 3)
    assert main(["train", "--resume", str(run.path), f"saving.loggers=[{OWN}:Keeps]"]) == 0
    assert CALLS[0] == ("rewind", 3, 96)
    assert logged() == [4, 5, 6]
    assert len(list(run.path.glob(EVENTS))) == 1
    assert Run.open(run.path).config.saving.loggers == (f"{OWN}:Keeps",)


@pytest.mark.long
def test_a_config_of_an_older_version_has_tensorboard(config: RunConfig, tmp_path: Path) -> None:
    run = trained(config, tmp_path, 3)
    text = run.config_path.read_text()
    assert text.count("loggers:") == 1
    run.config_path.write_text("".join(line for line in text.splitlines(True) if "loggers:" not in line))
    assert main(["train", "--resume", str(run.path)]) == 0
    assert len(list(run.path.glob(EVENTS))) == 2


def test_a_command_says_that_a_logger_is_foreign_code(
    config: RunConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(with_loggers(config, "Keeps"), tmp_path, 1)
    assert main(["eval", "--episodes", "4", str(run.path)]) == 0
    assert f"loads code from outside warpworld: module {OWN}" in capsys.readouterr().err
    assert main(["report", str(run.path)]) == 0
    assert "report runs no code from outside warpworld" in capsys.readouterr().out


# ---- failures --------------------------------------------------------------------------------------------------------
def test_a_logger_that_fails_costs_no_line_and_no_iteration(config: RunConfig, tmp_path: Path) -> None:
    watched = with_loggers(config, "FailsToLog", "tensorboard", "Keeps", checkpoint_every=50)
    with pytest.raises(LoggerError) as error:
        trained(watched, tmp_path)
    run = only_run(tmp_path)
    assert str(error.value) == (
        f"logger '{OWN}:FailsToLog' failed in log: KeyError: 'loss'; to continue without it: "
        f"warpworld train --resume {run.path} 'saving.loggers=[tensorboard,{OWN}:Keeps]'"
    )
    assert [line["iteration"] for line in lines(run)] == [1, 2]
    assert logged() == [1, 1, 2]
    assert run.checkpoints() == [0, 2]
    # of a failed one, only `close` is called
    assert [call[0] for call in CALLS] == ["log", "log", "log", "sync", "close", "close"]


@pytest.mark.long
def test_a_run_whose_logger_failed_is_the_uninterrupted_one(
    config: RunConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that the error shows continues it, bit for bit."""
    whole = trained(config, tmp_path / "whole")
    path = tmp_path / "watched.yaml"
    path.write_text(with_loggers(config, "FailsToLog").to_yaml())
    assert main(["train", str(path), f"saving.directory={tmp_path / 'failed'}"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    run = only_run(tmp_path / "failed")
    assert main(["train", "--resume", str(run.path), "saving.loggers=[]"]) == 0
    assert run.metrics_path.read_bytes() == whole.metrics_path.read_bytes()


@pytest.mark.long
def test_a_failed_logger_is_made_anew_when_the_run_continues(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(LoggerError):
        trained(with_loggers(config, "FailsToLog"), tmp_path)
    run = only_run(tmp_path)
    CALLS.clear()
    assert main(["train", "--resume", str(run.path)]) == 0
    assert CALLS[0] == ("rewind", 2, 64)
    assert logged() == [3, 4, 5, 6]


def test_a_logger_cannot_change_what_the_others_get(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(LoggerError, match=r"Changes' failed in log: .* does not support item deletion"):
        trained(with_loggers(config, "Changes", "Keeps"), tmp_path)
    assert logged() == [1]


def test_the_checkpoint_is_written_where_a_logger_cannot_sync(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(LoggerError, match=r"FailsToSync' failed in sync: no space; to continue without it"):
        trained(with_loggers(config, "FailsToSync", "Keeps"), tmp_path)
    assert only_run(tmp_path).checkpoints() == [0, 1]
    assert [call[0] for call in CALLS] == ["log", "log", "sync", "close", "close"]


def test_a_logger_that_cannot_be_made(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(LoggerError, match=r"FailsToBegin' failed in log: OSError: no line; to continue without it"):
        trained(with_loggers(config, "FailsToBegin", "Keeps"), tmp_path)
    assert only_run(tmp_path).checkpoints() == [0, 1]
    assert logged() == [1]


def test_a_logger_that_cannot_rewind(config: RunConfig, tmp_path: Path) -> None:
    """All else is as it was at the checkpoint."""
    run = trained(with_loggers(config, "FailsToRewind", "Keeps"), tmp_path, 3)
    before = run.metrics_path.read_bytes()
    CALLS.clear()
    again = Run.open(run.path)
    with pytest.raises(LoggerError, match=r"FailsToRewind' failed in rewind: lines are gone; to continue without it"):
        Trainer(again.config).resume(again)
    assert run.metrics_path.read_bytes() == before
    assert CALLS == [("rewind", 3, 96)]


def test_a_run_is_closed_where_a_logger_cannot_close(
    config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = trained(with_loggers(config, "FailsToClose", "Keeps"), tmp_path, 1)
    assert CALLS[-1] == ("close",)
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "FailsToClose' failed in close: closed before" in record.getMessage()
    again = Run.open(run.path)
    again.lock()  # which the closed run has released
    again.close()


def test_several_loggers_that_fail(config: RunConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The first is the error, the others are warnings."""
    with pytest.raises(LoggerError, match="FailsToBegin"):
        trained(with_loggers(config, "FailsToBegin", "Changes"), tmp_path)
    assert "Changes' failed in log" in caplog.text


def test_nothing_is_written_where_a_logger_is_not_available(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(LoggerError) as error:
        trained(with_loggers(config, "Unavailable"), tmp_path)
    assert str(error.value) == f"logger '{OWN}:Unavailable' failed in check_available: no package for cartpole"
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_is_left_alone_where_a_logger_is_not_available(config: RunConfig, tmp_path: Path) -> None:
    run = trained(config, tmp_path, 3)
    run.log({"iteration": 4, "env_steps": 128})
    run.close()
    before = run.metrics_path.read_bytes()
    assert main(["train", "--resume", str(run.path), f"saving.loggers=[{OWN}:Unavailable]"]) == 2
    assert run.metrics_path.read_bytes() == before


@pytest.mark.heavy
@pytest.mark.long
def test_of_two_processes_the_first_logs(tmp_path: Path) -> None:
    """Where its logger fails, both end behind the checkpoint, and the run continues."""
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "my_loggers.py").write_text(
        "import os\n"
        "from warpworld.runs.loggers import Logger\n"
        "class Mine(Logger):\n"
        "    def log(self, metrics):\n"
        "        with open('log', 'a') as file:\n"
        "            print(os.environ['RANK'], metrics['iteration'], file=file)\n"
        "        if metrics['iteration'] == 3:\n"
        "            raise ValueError('no more')\n"
    )
    words = [*SMALL, "saving.checkpoint_every=50", "saving.loggers=[my_loggers:Mine]"]
    assert finish_group(folder, 2, "train", *words) == [2, 2]
    assert (folder / "log").read_text() == "0 1\n0 2\n0 3\n"
    run = Run(run_folder(folder), load_config("cartpole"))
    assert run.checkpoints() == [0, 3]
    (error,) = [line for line in said(folder) if line.startswith("error:")]
    assert "logger 'my_loggers:Mine' failed in log: no more; to continue without it: warpworld train --resume" in error
