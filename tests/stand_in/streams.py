"""Streams of the stand-in GPU: work is done when it is asked for, but that of one stream may lag.

A stream that lags does its work as late as CUDA allows: when another stream follows a mark behind it, or when the host
reads what it computes or waits for the device. Work of another stream that ought to come after it, and follows no mark,
then finds what was there before. So a missing event changes results, whichever of the two streams lags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.stand_in.recorded_graph import RecordedGraph, Recording, again, where_it_is_captured

Work = Callable[[], None]
Mark = tuple[int, int]  # a stream, and how much work it had been given


class Streams:
    """The streams of the process.

    Attributes:
        current: handle of the one that work goes to; 0 is the default one.
        late: how often the lagging stream had work to catch up with.
    """

    def __init__(self) -> None:
        self.current = self.late = 0
        self._lagging: int | None = None
        self._waiting: list[Work] = []
        self._done = 0  # pieces of the lagging stream's work
        self._is_catching_up = False
        self._call: Late | None = None  # the call whose work is being recorded

    @contextmanager
    def on(self, stream: int) -> Iterator[None]:
        """Let work go to a stream."""
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def lag(self, stream: int) -> Iterator[None]:
        """Let a stream's work lag; in the end all of it is done."""
        self._lagging, self.late = stream, 0
        try:
            yield
            self.catch_up()
        finally:
            self._lagging, self._waiting = None, []

    @property
    def lags(self) -> bool:
        """Whether work that is asked for now waits; what a graph records is no work yet."""
        return self._lagging == self.current and RecordedGraph.recording is None and not self._is_catching_up

    # ---- order -------------------------------------------------------------------------------------------------------
    def mark(self, stream: int) -> Mark:
        """Remember the work that a stream has been given so far."""
        return stream, self._done + len(self._waiting)

    def follow(self, stream: int, mark: Mark) -> None:
        """Let what a stream is given from now on come after a mark."""
        marked, given = mark
        if marked == self._lagging and stream != marked:
            self.catch_up(given - self._done)

    def catch_up(self, count: int | None = None) -> None:
        """Do the first pieces of work that wait; None stands for all of them."""
        pieces = self._waiting if count is None else self._waiting[: max(count, 0)]
        self._waiting, self._done = self._waiting[len(pieces) :], self._done + len(pieces)
        self.late += bool(pieces)
        self._is_catching_up = True
        try:
            for work in pieces:
                work()
        finally:
            self._is_catching_up = False

    # ---- work --------------------------------------------------------------------------------------------------------
    def do(self, work: Work) -> None:
        """Do a piece of work, now or as late as possible; what a call of torch's launches keeps its place in it."""
        if not self.lags:
            work()
        elif self._call is None:
            self._waiting.append(work)
        else:
            self._call.work.append(work)

    def launch(self, work: Work) -> None:
        """Launch a kernel, now or as late as possible."""
        self.do(where_it_is_captured(work) if self.lags else work)

    def read(self) -> None:
        """Do what the current stream has been given: the host reads a result."""
        if self.lags:
            if self._call is not None:
                self._waiting.append(self._call.undone())
            self.catch_up()

    def call(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of torch's whose work waits; what it returns holds numbers once the work is done."""
        if self._call is not None:  # within another call, which records all of it
            return function(*args, **kwargs)
        with Late(self) as late:
            self._call = late
            try:
                made = function(*args, **kwargs)
            finally:
                self._call = None
        self._waiting.append(late.undone())
        return made


class Late(Recording):
    """Records the work of one call, which leaves memory as it was.

    Args:
        streams: that do the work later.
    """

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        self._streams = streams

    def reads(self) -> None:
        """Do all that the result depends on, since Python asks for it."""
        self._streams.read()

    def undone(self) -> Work:
        """Undo the work so far, and return what does it."""
        self.undo()
        work, self.work = self.work, []
        if not work:
            return _nothing

        def do() -> None:
            again(work)

        return do


def _nothing() -> None:
    pass


STREAMS = Streams()
