"""A ledger books a meter's numbers to the innermost part."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from warpworld.cli.profile.ledger import Ledger, Part


class Meter:
    """A clock that only moves when it is moved."""

    now = 0.0

    def read(self) -> tuple[float, float]:
        return self.now, 10 * self.now


def test_parts_are_booked_without_the_parts_within_them() -> None:
    meter = Meter()
    ledger = Ledger(meter.read)
    meter.now = 5.0  # nobody's
    ledger.enter(Part("learn", "agent"))
    meter.now += 1
    ledger.enter(Part("step"))
    meter.now += 2
    ledger.leave()
    meter.now += 4
    ledger.leave()
    meter.now += 8  # nobody's
    ledger.enter(Part("step"))
    meter.now += 16
    ledger.leave()
    assert ledger.totals == {
        Part("learn", "agent"): [5.0, 50.0],
        Part("step", "agent"): [2.0, 20.0],
        Part("step"): [16.0, 160.0],
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
    ledger = Ledger(meter.read)
    ledger.watch(thing, "work", Part("work"))
    ledger.watch(thing, "items", Part("items"))
    assert thing.work(seconds=3) == "done"
    found = []
    for item in thing.items():
        meter.now += 100  # nobody's
        found.append(item)
    assert found == [0, 1, 2]
    assert {part.name: sums[0] for part, sums in ledger.totals.items()} == {"work": 3.0, "items": 3.0}
    ledger.restore()
    assert thing.work is work and thing.items is items


def test_a_class_s_function_is_given_back_to_the_class() -> None:
    class Thing:
        def work(self) -> int:
            return 7

    thing, ledger, own = Thing(), Ledger(Meter().read), Thing.work
    ledger.watch(thing, "work", Part("of one"))
    ledger.watch(Thing, "work", Part("of all"))
    assert thing.work() == 7 and Thing().work() == 7
    ledger.restore()
    assert Thing.work is own and "work" not in vars(thing)


def test_what_fails_is_booked_and_left() -> None:
    meter = Meter()

    def fail() -> None:
        meter.now += 2
        raise ValueError("no")

    thing, ledger = SimpleNamespace(fail=fail), Ledger(meter.read)
    ledger.watch(thing, "fail", Part("fail"))
    ledger.enter(Part("around"))
    with pytest.raises(ValueError, match="no"):
        thing.fail()
    meter.now += 1
    ledger.leave()
    assert ledger.totals == {Part("fail"): [2.0, 20.0], Part("around"): [1.0, 10.0]}
