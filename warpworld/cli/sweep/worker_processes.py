"""Processes that train runs side by side, each on its share of the cores."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import connection, process
from typing import IO

from warpworld.cli.sweep.finding import found_run
from warpworld.cli.sweep.forked import ERR, OUT, Output, started
from warpworld.config import RunConfig
from warpworld.runs import RunFolder, summarise

POLL_SECONDS = 0.2


class Training:
    """A run that a process trains: a new one, or the one that an earlier process left unfinished.

    Args:
        config: of the run, with ``saving.name``.
        words: of the command line, for ``warpworld train``, which result in ``config``.
        cores: that the process may use.
        quiet: keep what it prints away from the terminal.

    Attributes:
        config: as given.
    """

    def __init__(self, config: RunConfig, words: Sequence[str], cores: Sequence[int], quiet: bool) -> None:
        self.config, self.cores = config, tuple(cores)
        self._run = found_run(config)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by close
        self._process: process.BaseProcess | None = None
        if self._run is None or summarise(self._run).state != "finished":
            asked = ["--resume", str(self._run.path)] if self._run is not None else words
            sys.stdout.flush()
            with open(os.devnull, "wb") as nowhere:
                output = Output(nowhere.fileno(), self._errors.fileno()) if quiet else Output(OUT, ERR)
                self._process = started(asked, self.cores, output)

    @property
    def was_finished(self) -> bool:
        """Whether there was nothing left to train."""
        return self._process is None

    @property
    def status(self) -> int | None:
        """The exit status of the process; None while it trains."""
        return 0 if self._process is None else self._process.exitcode

    @property
    def sentinel(self) -> int | None:
        """File descriptor that is ready once the process has ended; None where there is none."""
        return None if self._process is None else self._process.sentinel

    @property
    def run(self) -> RunFolder | None:
        """The run's folder; None before there is one."""
        self._run = self._run or found_run(self.config)
        return self._run

    @property
    def last_words(self) -> str:
        """The last line that a quiet process has written to standard error; its exit status if there is none."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("error: ") if lines else f"the process ended with exit status {self.status}"

    def stop(self) -> None:
        """Ask the process to end with a checkpoint."""
        if self._process is not None and self._process.exitcode is None:
            self._process.terminate()

    def close(self) -> None:
        """Wait for the process, and forget what it printed."""
        if self._process is not None:
            self._process.join()
        self._errors.close()


class Workers:
    """At most ``jobs`` trainings at a time.

    Attributes:
        running: those that have not been taken by ``ended``.
    """

    def __init__(self, jobs: int, quiet: bool) -> None:
        self.running: list[Training] = []
        self._quiet = quiet
        cores = sorted(os.sched_getaffinity(0))
        self._shares = [tuple(cores[i::jobs]) or (cores[i % len(cores)],) for i in range(jobs)]

    @property
    def are_busy(self) -> bool:
        """Whether no other training can start now."""
        return len(self.running) == len(self._shares)

    def start(self, config: RunConfig, words: Sequence[str]) -> Training:
        """Start a training on cores that are free; arguments as ``Training``'s."""
        taken = [training.cores for training in self.running]
        free = list(self._shares)
        for share in taken:
            free.remove(share)
        training = Training(config, words, free[0], self._quiet)
        self.running.append(training)
        return training

    def ended(self) -> list[Training]:
        """The trainings that have ended since the last call, after a short wait if there is none."""
        found = [training for training in self.running if training.status is not None]
        self.running = [training for training in self.running if training not in found]
        if not found:
            ends = [training.sentinel for training in self.running if training.sentinel is not None]
            connection.wait(ends, POLL_SECONDS)
        return found

    def stop(self) -> None:
        """Ask all to end with a checkpoint, and wait for them."""
        for training in self.running:
            training.stop()
        for training in self.running:
            training.close()
