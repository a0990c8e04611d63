"""Of findings that say the same, the one that is reported."""

from __future__ import annotations

import dataclasses

import pytest

from warpworld.checking.findings import Finding, distinct
from warpworld.checking.places import Place

HERE = Place("step.cu", 5)
RACE = Finding("race", HERE, "races", "mend it", kernel="step", array="x", other=HERE)


@pytest.mark.parametrize("turned", [False, True])
def test_one_that_does_harm_is_told_rather_than_a_note(turned: bool) -> None:
    note = dataclasses.replace(RACE, note=True, writes=(True, True))
    pair = [RACE, note]
    assert distinct(pair[::-1] if turned else pair) == (RACE,)


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_races_that_of_two_writes_is_told(turned: bool) -> None:
    read, write = (dataclasses.replace(RACE, writes=(True, second)) for second in (False, True))
    pair = [read, write]
    assert distinct(pair[::-1] if turned else pair) == (write,)


def test_other_kernels_arrays_kinds_and_places_are_told_apart() -> None:
    others = [
        dict(kernel="reset"),
        dict(array="y"),
        dict(kind="unwritten", other=None),
        dict(place=Place("step.cu", 6)),
    ]
    found = [RACE, *(dataclasses.replace(RACE, **each) for each in others)]
    assert set(distinct(found)) == set(found) - {found[3]}  # it is read where it races


def test_findings_are_in_the_order_of_their_lines() -> None:
    lines = [9, 3, 7]
    found = [dataclasses.replace(RACE, place=Place("step.cu", line)) for line in lines]
    assert [finding.place.line for finding in distinct(found)] == [3, 7, 9]
