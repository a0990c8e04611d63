"""Disks that are full, folders that cannot be written, two processes in one folder: nothing that was saved is lost."""

from __future__ import annotations

import builtins
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cases import seldom
from tests.runs.processes import SMALL, appeared, differences, finish, last_state, start
from warpworld.cli.main import main
from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer


class FullDisk:
    """Counts what is done to files, and fails the operation of a given number and, as a full disk, all later ones."""

    def __init__(self, fail_at: int | None, lasting: bool) -> None:
        self.count, self._fail_at, self._lasting = 0, fail_at, lasting

    def check(self) -> None:
        self.count += 1
        if self._fail_at is not None and (
            self.count == self._fail_at or (self._lasting and self.count > self._fail_at)
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.check()
            return function(*args, **kwargs)

        return call

    def open(self, path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if mode.startswith("r"):
            return _OPEN(path, mode, *args, **kwargs)
        self.check()
        return GuardedFile(_OPEN(path, mode, *args, **kwargs), self)


_OPEN = builtins.open


class GuardedFile:
    """A file whose writes may fail."""

    def __init__(self, file: Any, disk: FullDisk) -> None:
        self._file, self._disk = file, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: Any) -> int:
        self._disk.check()
        return self._file.write(data)

    def __enter__(self) -> GuardedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


@contextmanager
def disk(fail_at: int | None = None, lasting: bool = True) -> Iterator[FullDisk]:
    """Within, every opening for writing, write, fsync, rename and removal may fail."""
    full = FullDisk(fail_at, lasting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "open", full.open)
        patch.setattr(Path, "open", lambda path, *args, **kwargs: full.open(path, *args, **kwargs))
        for name in ("fsync", "replace", "rename", "mkdir"):
            patch.setattr(os, name, full.guarded(getattr(os, name)))
        yield full


def contents(run: Run) -> dict[str, Any]:
    return {"state": run.load_newest_readable(), "checkpoints": run.checkpoints()}


def one_more(run: Run) -> None:
    """Resume a run, do one iteration and save it."""
    trainer = Trainer(run.config)
    trainer.resume(run)
    until = trainer.iteration + 1
    try:
        trainer.train(run, stop=lambda: trainer.iteration == until)
    finally:
        run.close()


def fails(run: Run, number: int, lasting: bool) -> bool:
    """Whether one more iteration fails when the disk does at that operation; the error then names run and reason."""
    with disk(fail_at=number, lasting=lasting):
        try:
            one_more(run)
        except RunError as error:
            assert str(run.path) in str(error)
            assert "No space left on device" in str(error)
            return True
    return False


@pytest.mark.heavy
@pytest.mark.parametrize("lasting", [True, pytest.param(False, marks=[pytest.mark.slow, seldom])])
@pytest.mark.long
def test_whatever_operation_fails_the_run_goes_on_afterwards(config: RunConfig, tmp_path: Path, lasting: bool) -> None:
    whole = Run.create(config, tmp_path)
    Trainer(config).train(whole)
    whole.close()
    run = Run.create(config, tmp_path)
    trainer = Trainer(config)
    trainer.train(run, stop=lambda: trainer.iteration == 1)
    run.close()
    with disk() as counted:
        one_more(run)
    assert counted.count > 10  # opening, writes, fsyncs and renames of metrics, events and checkpoint
    failures = 0
    for number in range(1, counted.count + 1):
        before = run.checkpoints()
        failures += fails(run, number, lasting)
        assert set(before) <= set(run.checkpoints())
        assert list(run.path.rglob("*.tmp")) == []
        assert run.load_checkpoint()["iteration"] == run.checkpoints()[-1]  # whole, whether or not it was reported
        if run.checkpoints()[-1] >= 5:  # start over, so that there always is an iteration to do
            for iteration in run.checkpoints()[2:]:
                run.checkpoint_path(iteration).unlink()
    assert failures >= counted.count - 2
    trainer = Trainer(config)
    trainer.resume(run)
    trainer.train(run)
    run.close()
    assert run.metrics_path.read_bytes() == whole.metrics_path.read_bytes()
    assert not [name for name in differences(last_state(whole.path), last_state(run.path)) if name != ".config"]


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))


@pytest.mark.heavy
@pytest.mark.long
def test_a_disk_that_is_really_too_small(run: Run) -> None:
    """The system's own limit on a file's size, with torch writing the checkpoint."""
    big = {"weights": torch.zeros(40_000)}
    before = contents(run)
    command = (
        "import sys, torch; from warpworld.runs import Run; from warpworld.errors import RunError\n"
        "run = Run.open(sys.argv[1])\n"
        "try: run.save_checkpoint(4, {'weights': torch.zeros(40_000)})\n"
        "except RunError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", command, str(run.path)],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limit_file_size,
    )
    assert done.stdout == (
        f"checkpoint '{run.checkpoint_path(4)}' cannot be written: File too large; "
        "the checkpoint of iteration 3 is kept\n"
    ), done.stderr
    assert differences(contents(run), before) == []
    assert list(run.path.rglob("*.tmp")) == []
    run.save_checkpoint(4, big)  # where there is room it goes


@pytest.mark.parametrize("name", ["metrics.jsonl", "timing.jsonl"])
def test_metrics_on_a_full_device(run: Run, name: str) -> None:
    (run.path / name).unlink()
    (run.path / name).symlink_to("/dev/full")
    with pytest.raises(RunError, match=rf"{name}' cannot be written: No space left on device$"):
        run.log({"iteration": 4, "env_steps": 128, "time": 1.0})
    run.close()  # does not fail again for what was said already
    assert run.load_checkpoint()["iteration"] == 3


@pytest.mark.long
def test_the_command_says_it_in_one_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.timing_path.unlink()
    run.timing_path.mkdir()
    assert main(["train", "--resume", str(run.path)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"error: '{run.timing_path}' cannot be written: it is a folder, expected a file"
    run.timing_path.rmdir()
    assert main(["train", "--resume", str(run.path)]) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_run_folder(run: Run) -> None:
    run.path.chmod(0o555)
    try:
        with pytest.raises(RunError, match=r"cannot be written: Permission denied"):
            run.lock()
            run.rewrite_config(run.config)
    finally:
        run.path.chmod(0o755)


def test_a_lock_that_cannot_be_made(run: Run) -> None:
    (run.path / ".lock").unlink()
    (run.path / ".lock").mkdir()
    with pytest.raises(RunError, match=rf"^'{run.path}/.lock' cannot be written: Is a directory$"):
        run.lock()


@pytest.mark.heavy
@pytest.mark.long
def test_two_processes_in_one_run_folder(tmp_path: Path) -> None:
    process = start(tmp_path, "train", *SMALL, "trainer.total_env_steps=1280000")
    path = appeared(tmp_path, "runs/[!.]*", process)
    other = tmp_path / "other"
    assert finish(other, "train", "--resume", str(path)) == 2
    process.kill()
    process.join()
    message = (
        f"error: run '{path}' is being trained by another process (process {process.pid}); wait for it or end it\n"
    )
    assert (other / "err").read_text() == message
    assert finish(other, "train", "--resume", str(path), "--stop-at", "1") == 0  # a killed process holds nothing


@pytest.mark.long
def test_a_process_that_is_killed_before_its_folder_is_whole_leaves_none(tmp_path: Path) -> None:
    process = start(tmp_path, "train", *SMALL)
    appeared(tmp_path, "runs/.*", process)
    process.kill()
    process.join()
    for path in (tmp_path / "runs").glob("[!.]*"):  # it may have been quicker
        assert Run.open(path).load_checkpoint()["iteration"] >= 0
    assert finish(tmp_path, "train", *SMALL, "--stop-at", "1") == 0
