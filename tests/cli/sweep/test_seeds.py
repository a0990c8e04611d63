"""`warpworld train --seeds`: a run for each seed, side by side or one after another, and again where it was cut off."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from warpworld.cli.main import main
from warpworld.cli.sweep.finding import found_run
from warpworld.cli.sweep.seeds import seeded_configs
from warpworld.config import load_config
from warpworld.runs import Run, RunFolder, summarise
from warpworld.runs.metrics.metric_files import read_metrics
from warpworld.trainers.from_python import train
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

TINY = ["num_envs=4", "num_steps=16", "num_minibatches=1", "trainer.device=cpu", "trainer.num_workers=1"]
BUDGET = "total_env_steps=256"


def wait_for_two(what: Callable[[], list[Path]]) -> list[Path]:
    """Wait until two are found, and return them."""
    limit = time.monotonic() + 60
    while len(found := what()) < 2:
        assert time.monotonic() < limit, found
        time.sleep(0.05)
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.heavy
def test_seeds_finish_and_are_continued(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    finished, cut_off = (config for config, _ in seeded_configs("cartpole", [*TINY, BUDGET], 2))
    Trainer(finished).train(Run.create(finished))
    run = Run.create(cut_off)
    trainer = Trainer(cut_off)
    trainer.train(run, stop=lambda: trainer.iteration == 2)
    run.close()
    assert main(["train", "cartpole", *TINY, BUDGET, "--seeds", "2", "--jobs", "2"]) == 0
    printed = capfd.readouterr().out
    assert "seed 1 was finished already" in printed and "seed 2 finished; run folder: runs/cartpole-seed-2" in printed
    assert "interquartile mean" in printed
    folders = sorted((tmp_path / "runs").iterdir())
    assert [folder.name.rsplit("-", 2)[0] for folder in folders] == ["cartpole-seed-1", "cartpole-seed-2"]
    whole = Run.create(cut_off, tmp_path / "whole")
    Trainer(cut_off).train(whole)
    assert read_metrics(folders[1] / "metrics.jsonl").rows == read_metrics(whole.metrics_path).rows


@pytest.mark.heavy
def test_seeds_that_train_together_are_the_runs_that_they_are_alone(tmp_path: Path) -> None:
    settings = [*TINY, "total_env_steps=1_024", "trainer.torch_threads=1"]
    assert main(["train", "cartpole", *settings, "--seeds", "3", "--jobs", "2"]) == 0
    for config, _ in seeded_configs("cartpole", settings, 3):
        together = found_run(config)
        assert together is not None
        alone = train(config, directory=tmp_path / "alone")
        assert read_metrics(together.path / "metrics.jsonl").rows == read_metrics(alone.metrics_path).rows
        one, other = (RunFolder(folder).load_checkpoint() for folder in (together.path, alone.path))
        assert torch.equal(one["store"], other["store"])
        weights = other["policies"]["agent"]
        assert all(torch.equal(weight, weights[name]) for name, weight in one["policies"]["agent"].items())


@pytest.mark.heavy
def test_trainings_end_with_a_checkpoint_when_what_started_them_is_killed(tmp_path: Path) -> None:
    words = ["train", "cartpole", *TINY, "total_env_steps=100_000_000", "--seeds", "2", "--jobs", "2"]
    command = subprocess.Popen([sys.executable, "-m", "warpworld", *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        folders = wait_for_two(lambda: [found.parent for found in tmp_path.glob("runs/*/metrics.jsonl")])
    finally:
        command.kill()
        command.wait()
    assert wait_for_two(lambda: [folder for folder in folders if summarise(RunFolder(folder)).state == "stopped"])
    assert all(RunFolder(folder).checkpoints()[-1] > 0 for folder in folders)


def test_a_run_of_other_settings_is_another() -> None:
    (config, words), *_ = seeded_configs("cartpole", [*TINY, BUDGET, "seed=5"], 3)
    assert (config.trainer.seed, config.saving.name) == (5, "cartpole-seed-5")
    assert load_config(words[0], words[1:]) == config
    run = Run.create(config)
    run.close()
    found = found_run(config)
    assert found is not None and found.path == run.path
    elsewhere = config.model_copy(update={"saving": config.saving.model_copy(update={"log_every": 7})})
    assert found_run(elsewhere) is not None
    assert found_run(load_config(words[0], [*words[1:], "gamma=0.5"])) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--seeds", "2", "--resume", "runs/x"], "--resume is for a single run, and --seeds trains several"),
        (["--seeds", "2", "--run", "runs/x"], "--run is for a single run, and --seeds trains several"),
        (["--seeds", "2", "--stop-at", "9"], "--stop-at is for a single run, and --seeds trains several"),
        (["--jobs", "2"], "--jobs is for --seeds: warpworld train CONFIG --seeds 5 --jobs 2"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "cartpole", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"warpworld train: error: {expected}"


def test_a_mistake_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cartpole", "num_env=3", "--seeds", "2"]) == 2
    assert capsys.readouterr().err == (
        "error: command line, num_env=3: num_env is not a known key. Did you mean 'trainer.num_envs'?\n"
    )
    assert not (tmp_path / "runs").exists()
