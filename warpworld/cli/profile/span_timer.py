"""The time, or other numbers, that each span takes without the spans within it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warpworld.trainers.spans import Span


class SpanTimer:
    """Adds what a meter counts to the innermost open span.

    Attributes:
        totals: of each span, in the order in which spans ended first; as many numbers as the meter gives.

    Args:
        read: the meter: running totals, such as seconds.
    """

    def __init__(self, read: Callable[[], Sequence[float]]) -> None:
        self.totals: dict[Span, list[float]] = {}
        self._read = read
        self._open: list[Span] = []
        self._mark: Sequence[float] = ()

    def enter(self, span: Span) -> None:
        """Open a span; without a policy it has that of the span around it."""
        self._add_up()
        self._open.append(span if span.policy or not self._open else Span(span.name, self._open[-1].policy))

    def leave(self) -> None:
        """Close the innermost span."""
        self._add_up()
        self._open.pop()

    def _add_up(self) -> None:
        now = self._read()
        if self._open:
            sums = self.totals.setdefault(self._open[-1], [0.0] * len(now))
            for place, (before, after) in enumerate(zip(self._mark, now, strict=True)):
                sums[place] += after - before
        self._mark = self._read()
