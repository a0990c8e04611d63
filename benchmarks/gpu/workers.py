"""Jobs for a few processes that each take many of them: torch is imported once a process, and a crash ends one job."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .part import Context, unreached
from .process import signal_name
from .worker import carry_out

TAIL = 600  # characters of what a process that died printed last


@dataclass(frozen=True)
class Job:
    """A call of a function.

    Attributes:
        name: for people.
        function: ``module:function``, relative to this package with a leading dot.
        arguments: as JSON has them; so is what the function returns.
    """

    name: str
    function: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Done:
    """A job that came to an end.

    Attributes:
        job: which.
        found: what its function returned.
        fault: why it did not return; empty if it did.
    """

    job: Job
    found: Any = None
    fault: str = ""


def run_jobs(context: Context, jobs: Sequence[Job], at_once: int) -> Iterator[Done]:
    """Run jobs, the first ones first, and yield them as they end.

    A job that fails ends its process, and the others continue in a fresh one.

    Args:
        context: whose time they have; what processes print goes to files beside its figures.
        jobs: what is run.
        at_once: processes; 0 runs the jobs in this one.

    Raises:
        UnfinishedError: the time was over; with the names of the jobs that had not ended.
    """
    if at_once == 0:
        for job in context.in_time(jobs, lambda job: job.name):
            yield Done(job, **carry_out(job.function, list(job.arguments)))
        return
    team = _Team(jobs, context.path.parent, min(at_once, len(jobs)))
    try:
        yield from _in_time(context, jobs, team.done)
    finally:
        team.end()


def _in_time(context: Context, jobs: Sequence[Job], done: queue.Queue[Done]) -> Iterator[Done]:
    """Yield jobs as the queue reports their ends."""
    waiting = list(jobs)
    while waiting:
        if context.is_over():
            raise unreached([job.name for job in waiting], len(jobs))
        try:
            ended = done.get(timeout=min(1.0, context.left()))
        except queue.Empty:
            continue
        waiting.remove(ended.job)
        yield ended


class _Team:
    """Threads, each of which has a process carry out jobs."""

    def __init__(self, jobs: Sequence[Job], folder: Path, size: int) -> None:
        self.done: queue.Queue[Done] = queue.Queue()
        self._jobs, self._folder = deque(jobs), folder
        self._workers = [_Worker(folder / f"worker-{number}.txt") for number in range(size)]
        for worker in self._workers:
            threading.Thread(target=self._feed, args=(worker,), daemon=True).start()

    def _feed(self, worker: _Worker) -> None:
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                return worker.end()
            self.done.put(worker.carry_out(job))

    def end(self) -> None:
        """End what is not done."""
        self._jobs.clear()
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process for one job after the other, and another one once it has ended."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def carry_out(self, job: Job) -> Done:
        """Have a job carried out."""
        process = self._process = self._process or self._start()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps({"function": job.function, "arguments": job.arguments}) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        if not answer or "fault" in json.loads(answer):
            self._process = None
        return Done(job, **json.loads(answer)) if answer else Done(job, fault=self._death(process))

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[str]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # as many processes as cores; torch needs one each
            )

    def _death(self, process: subprocess.Popen[str]) -> str:
        code = process.wait()
        how = f"was ended by {signal_name(-code)}" if code < 0 else f"ended with status {code}"
        return f"its process {how}; it printed: {self._log.read_text(errors='replace')[-TAIL:]}"
