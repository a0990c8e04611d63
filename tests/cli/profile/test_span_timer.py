"""A timer adds a meter's numbers to the innermost span."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from warpworld.cli.profile.span_timer import Span, SpanTimer


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


def test_functions_and_generators_are_watched_until_it_is_restored() -> None:
    meter = Meter()

    def work(seconds: float) -> str:
        meter.now += seconds
        return "done"

    def items() -> Iterator[int]:
        for item in range(3):
            meter.now += 1
            yield item

    thing = SimpleNamespace(work=work, items=items)
    timer = SpanTimer(meter.read)
    timer.watch(thing, "work", Span("work"))
    timer.watch(thing, "items", Span("items"))
    assert thing.work(seconds=3) == "done"
    found = []
    for item in thing.items():
        meter.now += 100  # nobody's
        found.append(item)
    assert found == [0, 1, 2]
    assert {part.name: sums[0] for part, sums in timer.totals.items()} == {"work": 3.0, "items": 3.0}
    timer.restore()
    assert thing.work is work and thing.items is items


def test_a_class_s_function_is_given_back_to_the_class() -> None:
    class Thing:
        def work(self) -> int:
            return 7

    thing, timer, own = Thing(), SpanTimer(Meter().read), Thing.work
    timer.watch(thing, "work", Span("of one"))
    timer.watch(Thing, "work", Span("of all"))
    assert thing.work() == 7 and Thing().work() == 7
    timer.restore()
    assert Thing.work is own and "work" not in vars(thing)


def test_what_fails_is_booked_and_left() -> None:
    meter = Meter()

    def fail() -> None:
        meter.now += 2
        raise ValueError("no")

    thing, timer = SimpleNamespace(fail=fail), SpanTimer(meter.read)
    timer.watch(thing, "fail", Span("fail"))
    timer.enter(Span("around"))
    with pytest.raises(ValueError, match="no"):
        thing.fail()
    meter.now += 1
    timer.leave()
    assert timer.totals == {Span("fail"): [2.0, 20.0], Span("around"): [1.0, 10.0]}
