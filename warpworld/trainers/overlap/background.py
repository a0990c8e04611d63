"""A thread that runs one task at a time beside the main thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

import torch

from warpworld.managers.cpu import LEARNING, STEPPING, busy, learn_in_this_thread, set_busy

NAME = "warpworld-learner"


class Background:
    """Runs tasks in one thread of its own; its methods are called from one other thread.

    C++ and kernels of both threads run at the same time. While both compute, each leaves a core to the other. Between
    ``open`` and ``close`` each has half of torch's threads.

    Attributes:
        torch_threads: of both threads together; None while they are not shared.
    """

    def __init__(self) -> None:
        self.torch_threads: int | None = None
        self._thread: threading.Thread | None = None
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._ends: SimpleQueue[BaseException | None] = SimpleQueue()
        self._is_busy = False

    def open(self) -> None:
        """Share torch's threads between the calling thread and that of the tasks."""
        self.torch_threads = torch.get_num_threads()
        torch.set_num_threads(max(self.torch_threads - self.torch_threads // 2, 1))

    def start(self, task: Callable[[], None]) -> None:
        """Begin a task; the one before has been waited for."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=NAME, daemon=True)
            self._thread.start()
        self._is_busy = True
        set_busy(STEPPING, True)
        self._tasks.put(task)

    def join(self) -> None:
        """Wait for the task, if one was begun.

        Raises:
            BaseException: what it raised.
        """
        if not self._is_busy:
            return
        set_busy(STEPPING, False)  # while this thread waits
        error = self._ends.get()
        self._is_busy = False
        if error is not None:
            raise error

    def close(self) -> BaseException | None:
        """End the thread; a task that still runs is interrupted between two of its steps in Python.

        Returns:
            The error that the task raised of itself; None if there is none.
        """
        error = self._end()
        if self.torch_threads is not None:
            torch.set_num_threads(self.torch_threads)
            self.torch_threads = None
        return error

    def _end(self) -> BaseException | None:
        thread, self._thread = self._thread, None
        if thread is None:
            return None
        set_busy(STEPPING, False)
        if self._is_busy and self._ends.empty():
            _interrupt(thread)
        self._tasks.put(None)
        thread.join()
        error = self._ends.get() if self._is_busy else None
        self._is_busy = False
        return None if isinstance(error, KeyboardInterrupt) else error

    def _work(self) -> None:
        with suppress(KeyboardInterrupt):  # of a task that has just ended
            if self.torch_threads is not None:
                torch.set_num_threads(max(self.torch_threads // 2, 1))
            learn_in_this_thread()
            while (task := self._tasks.get()) is not None:
                self._ends.put(_error_of(task))


def _error_of(task: Callable[[], None]) -> BaseException | None:
    """Run a task; returns the exception that it raises, or None."""
    try:
        with busy(LEARNING):
            task()
    except BaseException as error:  # the waiting thread raises it
        return error
    return None


def _interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread, at its next step in Python."""
    assert thread.ident is not None
    interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
    interrupt(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
