"""Runs that learn from replays and are killed while they train: they go on bit for bit, with all that they remember."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from tests.cases import seldom
from tests.runs.moments import moments
from tests.runs.processes import appeared, differences, finish, finish_group, last_state, run_folder, said, start
from tests.runs.remembering import ITERATIONS, files, remembering
from warpworld.runs import Run

LOST = re.compile("taking an older one|without what its replay held")


class Uninterrupted:
    """A run that nothing interrupted."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "remembering.yaml"
        self.config.write_text(remembering().to_yaml())
        process = start(folder, "train", str(self.config))
        appeared(folder, "runs/[!.]*", process)
        began = time.monotonic()
        process.join(120)
        self.seconds = time.monotonic() - began
        assert process.exitcode == 0, (folder / "err").read_text()
        self.run = Run.open(run_folder(folder))
        self.state = last_state(self.run.path)
        self.metrics = self.run.metrics_path.read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    return Uninterrupted(tmp_path_factory.mktemp("uninterrupted"))


def goes_on_as_if_nothing_had_happened(folder: Path, run: Run, uninterrupted: Uninterrupted) -> None:
    iteration = run.load_checkpoint()["iteration"]  # the newest one, without any recovery
    assert iteration == run.checkpoints()[-1]
    assert finish(folder, "train", "--resume", str(run.path)) == 0, (folder / "err").read_text()
    assert not LOST.search((folder / "err").read_text())
    assert differences(uninterrupted.state, last_state(run.path)) == []
    assert run.metrics_path.read_bytes() == uninterrupted.metrics
    assert run.timing_path.read_bytes().count(b"\n") == ITERATIONS
    assert files(run) == files(uninterrupted.run)
    assert list(run.path.rglob("*.tmp")) == []


@pytest.mark.heavy
@pytest.mark.parametrize("number", [*moments(range(0, 100, 2), kept=1), *moments(range(1, 100, 2), kept=2)])
@pytest.mark.long
def test_killed_at_a_random_moment(tmp_path: Path, uninterrupted: Uninterrupted, number: int) -> None:
    generator = random.Random(number)
    process = start(tmp_path, "train", str(uninterrupted.config))
    appeared(tmp_path, "runs/[!.]*", process)
    time.sleep(generator.uniform(0, uninterrupted.seconds))
    process.kill()
    process.join()
    run = Run.open(run_folder(tmp_path))
    if number % 2:  # these are killed once more while they resume
        process = start(tmp_path, "train", "--resume", str(run.path))
        process.join(generator.uniform(0, uninterrupted.seconds))
        process.kill()
        process.join()
    goes_on_as_if_nothing_had_happened(tmp_path, run, uninterrupted)


# --- several processes ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_processes_resumed_by_two(tmp_path: Path, uninterrupted: Uninterrupted) -> None:
    ends = []
    for name, words in (("whole", ()), ("half", ("--stop-at", "96"))):
        folder = tmp_path / name
        assert finish_group(folder, 2, "train", str(uninterrupted.config), *words) == [0, 0], said(folder)
        ends.append(Run.open(run_folder(folder)))
    whole, half = ends
    assert half.checkpoints()[-1] == ITERATIONS // 2
    assert finish_group(tmp_path / "half", 2, "train", "--resume", str(half.path)) == [0, 0], said(tmp_path / "half")
    assert differences(last_state(whole.path), last_state(half.path)) == []
    assert whole.metrics_path.read_bytes() == half.metrics_path.read_bytes()
    assert files(whole) == files(half)
    assert {"whole_000008_0_of_2.npz", "whole_000008_1_of_2.npz"} <= set(files(whole))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then"), [(2, 3), pytest.param(2, 1, marks=seldom), pytest.param(1, 2, marks=seldom)]
)
def test_resumed_by_another_number_of_processes(
    tmp_path: Path, uninterrupted: Uninterrupted, first: int, then: int
) -> None:
    def train(size: int, *words: str) -> None:
        assert set(finish_group(tmp_path, size, "train", *words)) == {0}, said(tmp_path)

    train(
        first,
        str(uninterrupted.config),
        "policy.tagger.batch_size=18",
        "policy.runner.batch_size=18",
        "--stop-at",
        "96",
    )
    run = Run.open(run_folder(tmp_path))
    train(then, "--resume", str(run.path))
    assert run.checkpoints()[-1] == ITERATIONS
    assert not [line for line in said(tmp_path) if LOST.search(line)]
    train(first, "--resume", str(run.path), "trainer.total_env_steps=240")  # from files of both
    assert run.checkpoints()[-1] == ITERATIONS + 2
