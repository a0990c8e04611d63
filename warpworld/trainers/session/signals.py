"""Ctrl-C and SIGTERM while a run trains, and SIGTERM while something is open."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NOTICE = b"\nending after this iteration, with a checkpoint; interrupt again to end at once\n"


class StopOnSignal:
    """A context manager in which the first SIGINT or SIGTERM is a request, and the second a KeyboardInterrupt.

    Called, it returns whether an end was requested.

    Args:
        quiet: leave it to another process to say so.

    Attributes:
        received: the first signal, or None.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.received: signal.Signals | None = None
        self._quiet = quiet
        self._previous: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        """Whether a signal came."""
        return self.received is not None

    @property
    def exit_status(self) -> int:
        """Exit status that shells expect after the signal: 128 and its number."""
        return 128 + (self.received or signal.SIGINT)

    def __enter__(self) -> StopOnSignal:
        """Take the signals; only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give them back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)
        if not self._quiet:
            os.write(2, _NOTICE)  # print() may be what the signal came into


@contextmanager
def sigterm_raises(make: Callable[[], BaseException]) -> Iterator[None]:
    """Let SIGTERM end the process as errors do, so that what is open is closed.

    Signals arrive in the main thread; in others nothing changes.

    Args:
        make: what is raised.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise make()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
