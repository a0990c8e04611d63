"""Processes that are killed while they train: what they leave can be loaded, and goes on bit for bit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runs.moments import moments
from tests.runs.processes import ITERATIONS, SMALL, appeared, differences, finish, last_state, run_folder, start
from warpworld.runs import Run


class Uninterrupted:
    """A run that nothing interrupted."""

    def __init__(self, folder: Path) -> None:
        process = start(folder, "train", *SMALL)
        appeared(folder, "runs/[!.]*", process)
        began = time.monotonic()
        process.join(120)
        self.seconds = time.monotonic() - began
        assert process.exitcode == 0, (folder / "err").read_text()
        self.path = run_folder(folder)
        self.state = last_state(self.path)
        self.metrics = (self.path / "metrics.jsonl").read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    return Uninterrupted(tmp_path_factory.mktemp("uninterrupted"))


def killed(folder: Path, seconds: float) -> Run:
    """Train, and kill the process so many seconds after its run folder has appeared."""
    process = start(folder, "train", *SMALL)
    appeared(folder, "runs/[!.]*", process)
    time.sleep(seconds)
    process.kill()
    process.join()
    return Run.open(run_folder(folder))


def goes_on_as_if_nothing_had_happened(folder: Path, run: Run, uninterrupted: Uninterrupted) -> None:
    iteration = run.load_checkpoint()["iteration"]  # the newest one, without any recovery
    assert iteration == run.checkpoints()[-1]
    lines = run.metrics_path.read_bytes() if run.metrics_path.exists() else b""
    assert lines.count(b"\n") >= iteration  # no metrics of what was saved are missing
    assert finish(folder, "train", "--resume", str(run.path)) == 0, (folder / "err").read_text()
    assert differences(uninterrupted.state, last_state(run.path)) == []
    assert run.metrics_path.read_bytes() == uninterrupted.metrics
    assert run.timing_path.read_bytes().count(b"\n") == ITERATIONS
    assert list(run.path.rglob("*.tmp")) == []


@pytest.mark.heavy
@pytest.mark.parametrize("number", moments(range(10), kept=2))
@pytest.mark.long
def test_killed_at_a_random_moment(tmp_path: Path, uninterrupted: Uninterrupted, number: int) -> None:
    moment = random.Random(number).uniform(0, uninterrupted.seconds)
    run = killed(tmp_path, moment)
    goes_on_as_if_nothing_had_happened(tmp_path, run, uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("number", moments(range(10, 110), kept=1))
def test_killed_at_one_of_a_hundred_moments(tmp_path: Path, uninterrupted: Uninterrupted, number: int) -> None:
    generator = random.Random(number)
    run = killed(tmp_path, generator.uniform(0, uninterrupted.seconds))
    process = start(tmp_path, "train", "--resume", str(run.path))  # and once more while it is being resumed
    process.join(generator.uniform(0, uninterrupted.seconds))
    process.kill()
    process.join()
    goes_on_as_if_nothing_had_happened(tmp_path, run, uninterrupted)


@pytest.mark.slow
def test_the_command_itself_is_killed(tmp_path: Path, uninterrupted: Uninterrupted) -> None:
    """As users run it: ``python -m warpworld``, started afresh each time."""
    command = [sys.executable, "-m", "warpworld", "train"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen([*command, *SMALL], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    while not list((tmp_path / "runs").glob("[!.]*/checkpoints/iteration_000003.pt")):
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.001)
    process.kill()
    process.wait()
    run = Run.open(run_folder(tmp_path))
    subprocess.run([*command, "--resume", str(run.path)], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert differences(uninterrupted.state, last_state(run.path)) == []
    assert run.metrics_path.read_bytes() == uninterrupted.metrics
