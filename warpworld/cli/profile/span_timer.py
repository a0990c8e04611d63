"""Spans of a program, and the time that each takes without the spans within it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Span:
    """A named span of an iteration.

    Attributes:
        name: of what is done.
        policy: for which policy; empty for all.
    """

    name: str
    policy: str = ""


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
        self._replaced: list[tuple[Any, str, Any, bool]] = []

    # ---- adding up ---------------------------------------------------------------------------------------------------
    def enter(self, span: Span) -> None:
        """Open a span."""
        self._add_up()
        self._open.append(span if span.policy or not self._open else self._inherited(span.name))

    def leave(self) -> None:
        """Close the innermost span."""
        self._add_up()
        self._open.pop()

    def _inherited(self, name: str) -> Span:
        """A span for the policy of the span around it."""
        return Span(name, self._open[-1].policy)

    def _add_up(self) -> None:
        now = self._read()
        if self._open:
            sums = self.totals.setdefault(self._open[-1], [0.0] * len(now))
            for place, (before, after) in enumerate(zip(self._mark, now, strict=True)):
                sums[place] += after - before
        self._mark = self._read()

    # ---- what is watched ---------------------------------------------------------------------------------------------
    def watch(self, owner: Any, name: str, span: Span) -> None:
        """Time each call of a function as a span, until ``restore``; of a generator, each item.

        Args:
            owner: an object, a class or a module.
            name: of the attribute.
            span: without a policy it has that of the span around it.
        """
        self._replaced.append((owner, name, getattr(owner, name), name in vars(owner)))
        setattr(owner, name, self._watched(getattr(owner, name), span))

    def _watched(self, function: Callable[..., Any], span: Span) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            self.enter(span)
            try:
                made = function(*given, **named)
            finally:
                self.leave()
            return self._items(made, span) if isinstance(made, Iterator) else made

        return watched

    def _items(self, made: Iterator[Any], span: Span) -> Iterator[Any]:
        while True:
            self.enter(span)
            try:
                item = next(made, self)
            finally:
                self.leave()
            if item is self:
                return
            yield item

    def restore(self) -> None:
        """Put the functions back."""
        for owner, name, before, was_own in reversed(self._replaced):
            if was_own:
                setattr(owner, name, before)
            else:
                delattr(owner, name)
        self._replaced.clear()
