"""SIGINT and SIGTERM while a run trains."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from tests.runs.processes import SMALL, appeared, finish, start
from warpworld.runs import Run
from warpworld.trainers.session.signals import StopOnSignal

LONG = (*SMALL, "trainer.total_env_steps=12800000", "saving.checkpoint_every=100000")


def training(folder: Path) -> tuple[ForkServerProcess, Run]:
    """A long training that is under way."""
    process = start(folder, "train", *LONG)
    return process, Run.open(appeared(folder, "runs/[!.]*/metrics.jsonl", process).parent)


@pytest.mark.heavy
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.long
def test_the_first_signal_saves_and_ends(tmp_path: Path, number: signal.Signals, status: int) -> None:
    process, run = training(tmp_path)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(60)
    assert process.exitcode == status
    iterations = run.checkpoints()
    assert len(iterations) == 2  # the untrained policies, and where it ended
    assert run.metrics_path.read_bytes().count(b"\n") == iterations[-1]
    lines = (tmp_path / "err").read_text().splitlines()
    assert "ending after this iteration, with a checkpoint; interrupt again to end at once" in lines
    assert lines[-2:] == [
        f"ended by {number.name} after {iterations[-1] * 128:,} env steps, with a checkpoint; "
        f"run folder: {run.path.relative_to(tmp_path)}",
        f"continue: warpworld train --resume {run.path.relative_to(tmp_path)}",
    ]
    assert (run.path / "curve.png").exists()
    words = lines[-1].removeprefix("continue: warpworld ").split()  # the very command that it names
    assert finish(tmp_path, *words, "--stop-at", str(iterations[-1] * 128 + 1)) == 0
    assert run.checkpoints() == [*iterations, iterations[-1] + 1]


def test_the_second_signal_ends_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    with StopOnSignal() as signals:
        assert not signals()
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals()
        assert signals.received is signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert signals.exit_status == 143
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert capfd.readouterr().err.count("interrupt again to end at once") == 1


@pytest.mark.heavy
@pytest.mark.long
def test_two_signals_leave_what_was_saved(tmp_path: Path) -> None:
    process, run = training(tmp_path)
    assert process.pid is not None
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # both while no step is taken
        os.kill(process.pid, number)
    process.join(60)
    assert process.exitcode in (130, 143)  # which of the two is seen first is the system's affair
    assert (tmp_path / "err").read_text().splitlines()[-2].startswith("interrupted after ")
    assert run.checkpoints() == [0]
    assert run.load_checkpoint()["iteration"] == run.checkpoints()[-1]
    assert list(run.path.rglob("*.tmp")) == []
    assert finish(tmp_path, "train", "--resume", str(run.path), "--stop-at", "128") == 0


def test_in_another_thread_signals_are_left_alone() -> None:
    seen: list[bool] = []

    def enter() -> None:
        with StopOnSignal() as signals:
            seen.append(signals())

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
