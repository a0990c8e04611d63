"""``warpworld train CONFIG --run DIR`` starts a run or continues it, whichever the folder asks for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.runs.processes import differences, last_state
from warpworld.cli.main import main
from warpworld.cli.train import _opened_along
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers.processes.distributed import ProcessGroup

pytestmark = [pytest.mark.cpu_backend, pytest.mark.long]

SMALL = ("cartpole", "--device", "cpu", "num_envs=4", "num_steps=8", "num_minibatches=1", "update_epochs=1")
BUDGET = "total_env_steps=128"


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two of four iterations."""
    path = tmp_path_factory.mktemp("half") / "new" / "run"
    assert main(["train", *SMALL, BUDGET, "--run", str(path), "--stop-at", "64"]) == 0
    assert Run.open(path).checkpoints() == [0, 2]
    return path


@pytest.fixture
def run(half: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(half, tmp_path / "run")


@pytest.mark.heavy
def test_the_same_command_continues(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["train", *SMALL, BUDGET, "--run", str(run)]
    assert main(again) == 0
    assert f"continuing {run} from 64 of 128 env steps\n" in capsys.readouterr().out
    assert main(again) == 0
    assert capsys.readouterr().out.startswith(f"run '{run}' is finished: it has done its 128 env steps.")
    whole = tmp_path / "whole"
    whole.mkdir()  # an empty folder is as good as none
    assert main(["train", *SMALL, BUDGET, "--run", str(whole)]) == 0
    assert differences(last_state(whole), last_state(run)) == []


def test_what_may_change_when_a_run_continues(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *SMALL, "total_env_steps=96", "--run", str(run), "--name", "another"]) == 0
    assert f"continuing {run} from 64 of 96 env steps\n" in capsys.readouterr().out
    assert Run.open(run).config.trainer.total_env_steps == 96


FURTHER = "Name another folder with --run, or continue that run as it is: warpworld train --resume"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([*SMALL, BUDGET, "num_envs=8"], "trainer.num_envs is 4 there and 8 here"),
        (
            [*SMALL, BUDGET, "gamma=0.5", "seed=7", "gae_lambda=0.5", "clip_coef=0.3", "env.episode_length=9"],
            "env.episode_length is 500 there and 9 here; trainer.seed is 1 there and 7 here; "
            "policy.agent.gamma is 0.99 there and 0.5 here; 2 more keys differ",
        ),
    ],
)
def test_a_run_of_another_config_is_refused(
    run: Path, words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (run / "config.yaml").read_bytes()
    assert main(["train", *words, "--run", str(run)]) == 2
    assert capsys.readouterr().err == f"error: run '{run}' is of another config: {named}. {FURTHER} {run}\n"
    assert (run / "config.yaml").read_bytes() == before


def test_a_folder_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["train", *SMALL, "--run", str(tmp_path)]) == 2
    expected = "holds no config.yaml, expected a run folder such as 'warpworld train' makes"
    assert capsys.readouterr().err == f"error: '{tmp_path}' {expected}\n"
    assert main(["train", *SMALL, "--run", str(tmp_path / "notes")]) == 2
    assert capsys.readouterr().err == f"error: '{tmp_path / 'notes'}' is a file, expected a run folder.\n"


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    path = tmp_path / "notes" / "run"
    assert main(["train", *SMALL, "--run", str(path)]) == 2
    expected = f"error: run folder '{path}' cannot be made: File exists; name another folder with --run DIR"
    assert capsys.readouterr().err.splitlines()[-1] == expected


def test_a_run_that_is_being_trained(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = Run.open(run)
    other.lock()
    assert main(["train", *SMALL, BUDGET, "--run", str(run)]) == 2
    assert capsys.readouterr().err.startswith(f"error: run '{run}' is being trained by another process (process ")
    other.close()


def test_a_machine_that_does_not_see_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(RunError) as raised:
        _opened_along(path, ProcessGroup(1, 2))
    assert str(raised.value) == (
        f"process 0 continues run '{path}', but process 1 of 2 cannot: '{path}' does not exist, expected a run folder. "
        "Name a folder that all machines see"
    )


def test_a_run_is_either_new_or_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "cartpole", "--run", "a", "--resume", "b"])
    expected = "warpworld train: error: argument --resume: not allowed with argument --run"
    assert capsys.readouterr().err.splitlines()[-1] == expected
