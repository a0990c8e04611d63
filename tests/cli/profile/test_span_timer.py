"""A timer adds a meter's numbers to the innermost span."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from warpworld.cli.profile.span_timer import SpanTimer
from warpworld.trainers.spans import Span, recording, span, spanned, spanned_items


class Meter:
    """A clock that only moves when it is moved."""

    now = 0.0

    def read(self) -> tuple[float, float]:
        return self.now, 10 * self.now


def test_parts_are_booked_without_the_parts_within_them() -> None:
    meter = Meter()
    timer = SpanTimer(meter.read)
    meter.now = 5.0  # nobody's
    timer.enter(Span("learn", "agent"))
    meter.now += 1
    timer.enter(Span("step"))
    meter.now += 2
    timer.leave()
    meter.now += 4
    timer.leave()
    meter.now += 8  # nobody's
    timer.enter(Span("step"))
    meter.now += 16
    timer.leave()
    assert timer.totals == {
        Span("learn", "agent"): [5.0, 50.0],
        Span("step", "agent"): [2.0, 20.0],
        Span("step"): [16.0, 160.0],
    }


def test_nothing_is_recorded_unless_it_is_asked_for() -> None:
    timer = SpanTimer(Meter().read)
    with span("before"), recording(timer), span("meanwhile"):
        pass
    with span("after"):
        pass
    assert list(timer.totals) == [Span("meanwhile")]


def test_functions_and_items_are_spans() -> None:
    meter = Meter()

    @spanned("work")
    def work(seconds: float) -> str:
        """Worker."""
        meter.now += seconds
        return "done"

    def items() -> Iterator[int]:
        for item in range(3):
            meter.now += 1
            yield item

    timer, found = SpanTimer(meter.read), []
    with recording(timer):
        assert work(seconds=3) == "done" and work.__doc__ == "Worker."
        for item in spanned_items("items", items()):
            meter.now += 100  # nobody's
            found.append(item)
    assert found == [0, 1, 2]
    assert {part.name: sums[0] for part, sums in timer.totals.items()} == {"work": 3.0, "items": 3.0}


def test_what_fails_is_booked_and_left() -> None:
    meter = Meter()
    timer = SpanTimer(meter.read)
    with pytest.raises(ValueError, match="no"), recording(timer), span("around"):
        try:
            with span("fail"):
                meter.now += 2
                raise ValueError("no")
        finally:
            meter.now += 1
    assert timer.totals == {Span("fail"): [2.0, 20.0], Span("around"): [1.0, 10.0]}
    with span("later"):
        meter.now += 5
    assert len(timer.totals) == 2
