"""A training in a process of its own, forked from one that has imported all that trainings need."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import multiprocessing.context
import multiprocessing.process
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import reduction
from typing import Any

TEMPLATE = "warpworld.cli.sweep.template"
OUT, ERR = 1, 2  # file descriptors


class Output:
    """Standard output and error of a process: this process's own, or others.

    Args:
        out: file descriptor.
        err: likewise.
    """

    def __init__(self, out: int, err: int) -> None:
        self._ends = out, err

    def __reduce__(self) -> tuple[type[_Handed], tuple[Any, ...]]:
        """Hand copies of both on to the process that is started."""
        return _Handed, tuple(map(reduction.DupFd, self._ends))


class _Handed:
    """Both ends, as the process that was started receives them."""

    def __init__(self, *ends: Any) -> None:
        self._ends = ends

    def take(self) -> None:
        for end, number in zip(self._ends, (OUT, ERR), strict=True):
            given = end.detach()
            os.dup2(given, number)
            os.close(given)


def started(words: Sequence[str], cores: Sequence[int], output: Output) -> multiprocessing.process.BaseProcess:
    """Start ``warpworld train`` with these words on some cores.

    It begins as a copy of a process that has imported everything, and leaves that one's session. When the process that
    started it dies, it ends with a checkpoint.

    Args:
        words: of the command line, behind ``train``.
        cores: that it may use.
        output: where it prints.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([TEMPLATE])
    process = context.Process(target=_train, args=(list(words), list(cores), dict(os.environ), output))
    process.start()
    return process


def _train(words: Sequence[str], cores: Sequence[int], environment: Mapping[str, str], output: _Handed) -> None:
    import torch

    from warpworld.cli.main import main

    gc.freeze()  # what was imported stays, in memory that is shared
    os.setsid()  # Ctrl-C reaches the first process alone, which then asks the others to end
    os.environ.clear()
    os.environ.update(environment)
    output.take()
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setaffinity(0, cores)
    if "OMP_NUM_THREADS" not in environment:
        torch.set_num_threads(len(cores))  # as many as it takes where it is loaded on these cores
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main(["train", *words]))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
