"""Kernels with one fault each: a check finds it, with place, element and agents, and finds nothing else."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cases import seldom
from tests.checking.planted_worlds import PLANTED, checked, line_of
from warpworld.checking import Finding

pytestmark = pytest.mark.cpu_backend


@dataclass(frozen=True)
class Expected:
    """What is to be found in a kernel; the line is the one marked with its name."""

    source: str
    kernel: str
    kind: str
    array: str
    index: tuple[int, ...]
    env: int
    agents: tuple[int, ...]
    writes: tuple[bool, ...]
    before: str = ""  # the mark of a race's other line; a race at one line has none
    note: bool = False
    reset: str | None = None
    at: str = ""  # the mark of the line, where it is not the kernel's name


READ, WRITE = (False,), (True,)
TWO_WRITES, WRITE_AFTER_READ, READ_AFTER_WRITE = (True, True), (True, False), (False, True)

ONE_FINDING = [
    Expected("races.cu", "lost_update", "race", "hits", (0,), 0, (1, 0), TWO_WRITES),
    Expected("races.cu", "missing_barrier", "race", "x", (0, 1), 0, (1, 0), WRITE_AFTER_READ, "missing_barrier before"),
    Expected("races.cu", "mixed_atomic", "race", "hits", (0,), 0, (3, 2), TWO_WRITES, "mixed_atomic before"),
    Expected("races.cu", "read_of_atomic", "race", "hits", (0,), 0, (1, 0), WRITE_AFTER_READ, "read_of_atomic before"),
    Expected("races.cu", "same_value", "race", "hits", (0,), 0, (1, 0), TWO_WRITES, note=True),
    Expected("races.cu", "changed_once", "race", "hits", (0,), 0, (1, 0), TWO_WRITES),
    Expected("races.cu", "shared", "race", "row", (0,), 0, (1, 0), READ_AFTER_WRITE, "shared before"),
    Expected("races.cu", "plain_shared", "race", "line", (0,), 0, (1, 0), READ_AFTER_WRITE, "plain_shared before"),
    Expected("races.cu", "next_round", "race", "row", (1,), 0, (1, 0), WRITE_AFTER_READ, "next_round before"),
    Expected("races.cu", "between_envs", "race", "total", (), 1, (0, 0), TWO_WRITES),
    Expected("races.cu", "device_variable", "race", "counter", (0,), 1, (0, 0), TWO_WRITES),
    Expected("races.cu", "in_helper", "race", "hits", (0,), 0, (1, 0), TWO_WRITES, at="helper"),
    Expected("races.cu", "vectors", "race", "points", (0, 0, 0), 0, (1, 0), TWO_WRITES),
    Expected("races.cu", "returned", "race", "pairs", (0,), 0, (1, 0), TWO_WRITES),
    Expected("races.cu", "several_readers", "race", "hits", (0,), 0, (1, 0), WRITE_AFTER_READ, "read by several"),
    Expected("warps.cu", "no_syncwarp", "race", "line", (0,), 0, (1, 0), READ_AFTER_WRITE, "no_syncwarp before"),
    Expected("warps.cu", "wrong_lanes", "race", "line", (1,), 0, (2, 1), READ_AFTER_WRITE, "wrong_lanes before"),
    Expected("bounds.cu", "far", "out-of-bounds", "x", (100001,), 0, (1,), WRITE),
    Expected("bounds.cu", "very_far", "out-of-bounds", "", (), 1, (2,), WRITE),
    Expected("bounds.cu", "read_other", "other-env", "x", (1, 0), 0, (0,), READ),
    Expected("bounds.cu", "shared_end", "out-of-bounds", "row", (4,), 0, (3,), WRITE),
    Expected("bounds.cu", "atomic_end", "out-of-bounds", "hits", (3,), 0, (3,), WRITE),
    Expected("slots.cu", "below_read", "out-of-bounds", "row", (-1,), 0, (0,), READ),
    Expected("slots.cu", "below_write", "out-of-bounds", "row", (-1,), 0, (0,), WRITE),
    Expected("slots.cu", "far_below", "out-of-bounds", "row", (-3,), 0, (0,), READ),
    Expected("slots.cu", "below_atomic", "out-of-bounds", "row", (-1,), 0, (0,), WRITE),
    Expected("slots.cu", "above_read", "out-of-bounds", "row", (4,), 0, (3,), READ),
    Expected("read_only.cu", "own_action", "read-only", "actions", (0, 1, 0), 0, (1,), WRITE),
    Expected("read_only.cu", "later", "read-only", "timestep", (0,), 0, (0,), WRITE),
    Expected("read_only.cu", "shape_of", "read-only", "fixed", (0, 2), 0, (2,), WRITE),
    Expected("read_only.cu", "added", "read-only", "fixed", (0, 3), 0, (3,), WRITE),
    Expected("unwritten.cu", "shared_row", "unwritten", "row", (1,), 0, (3,), READ),
    Expected("unwritten.cu", "shared_of_before", "unwritten", "kept", (0,), 0, (0,), READ),
    Expected("unwritten.cu", "array", "unwritten", "empty", (0, 0), 0, (0,), READ),
    Expected("unwritten.cu", "half", "unwritten", "empty", (0, 2), 0, (2,), READ),
    Expected("unwritten.cu", "age", "reset", "kept", (0, 0), 0, (0,), READ, reset="forget"),
    Expected("guards.cu", "open_step", "guard", "x", (2, 0), 2, (0,), WRITE),
    Expected("values.cu", "not_a_number", "not-finite", "x", (0, 1), 0, (1,), WRITE),
    Expected("values.cu", "infinite", "not-finite", "x", (0, 2), 0, (2,), WRITE),
    Expected("values.cu", "bounds", "bounds", "side", (0, 3), 0, (3,), WRITE),
    Expected("values.cu", "observation", "observation", "observations", (0, 0, 0), 0, (0,), WRITE),
]  # fmt: skip

CORRECT = [
    ("races.cu", "correct", None),
    ("warps.cu", "syncwarp", None),
    ("guards.cu", "guarded_step", "guarded_reset"),
    ("unwritten.cu", "age", "remember"),
]


def assert_found(finding: Finding, expected: Expected) -> None:
    assert finding.kind == expected.kind, finding
    assert finding.place.file == str(PLANTED / expected.source)
    assert finding.place.line == line_of(expected.source, expected.at or expected.kernel)
    assert (finding.kernel, finding.array, finding.index) == (expected.kernel, expected.array, expected.index)
    assert (finding.env, finding.agents, finding.writes) == (expected.env, expected.agents, expected.writes)
    assert finding.note == expected.note
    if expected.before:
        assert finding.other is not None and finding.other.line == line_of(expected.source, expected.before)
    elif expected.kind == "race":
        assert finding.other == finding.place


@pytest.mark.parametrize("expected", ONE_FINDING, ids=lambda expected: expected.kernel)
def test_the_fault_is_found_with_place_element_and_agents(expected: Expected) -> None:
    report = checked(expected.source, expected.kernel, expected.reset)
    assert_found(report.findings[0], expected)
    assert len(report.findings) == 1
    assert report.clean == expected.note


@pytest.mark.parametrize(("source", "kernel", "reset"), CORRECT, ids=[kernel for _, kernel, _ in CORRECT])
def test_nothing_is_found_in_a_correct_kernel(source: str, kernel: str, reset: str | None) -> None:
    report = checked(source, kernel, reset)
    assert report.findings == ()
    assert report.clean and not report.stopped


def found(kernel: str, source: str, reset: str | None = None, **settings: Any) -> list[tuple[Any, ...]]:
    report = checked(source, kernel, reset, **settings)
    return [(f.kind, f.place.line, f.array, f.index, f.env, f.agents, f.note) for f in report.findings]


def test_an_index_that_is_one_off_meets_the_next_env_and_at_the_end_nobody() -> None:
    line = line_of("bounds.cu", "next_agent")
    assert found("next_agent", "bounds.cu") == [
        ("other-env", line, "x", (1, 0), 0, (3,), False),
        ("out-of-bounds", line, "x", (12,), 2, (3,), False),
    ]
    line = line_of("bounds.cu", "agent_before")
    assert found("agent_before", "bounds.cu") == [
        ("other-env", line, "x", (0, 3), 1, (0,), False),
        ("out-of-bounds", line, "x", (-1,), 0, (0,), False),
    ]


def test_a_write_that_repeats_another_is_a_note_and_reading_it_is_not() -> None:
    before, line = line_of("races.cu", "covered before"), line_of("races.cu", "covered")
    assert found("covered", "races.cu") == [
        ("race", before, "hits", (0,), 0, (1, 0), True),
        ("race", line, "hits", (0,), 0, (3, 1), False),
    ]


def test_a_wild_access_is_not_carried_out() -> None:
    report = checked("bounds.cu", "very_far")
    assert "memory of no array" in report.findings[0].message
    assert report.stopped == "the check ended in step 1 of 8, because a kernel was ended"


@pytest.mark.parametrize(
    ("source", "step", "reset"),
    [("guards.cu", "guarded_step", "open_reset"), ("plain_guards.cu", "plain_step", "plain_reset")],
)
def test_a_reset_without_a_guard_is_found_where_it_writes_to_envs_that_go_on(
    source: str, step: str, reset: str
) -> None:
    (finding,) = found(step, source, reset)
    assert finding[:3] == ("guard", line_of(source, reset), "x")


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        ("two_sites", "barrier", "different barriers"),
        ("warp_and_block", "barrier", "deadlock"),
        ("assertion", "fault", "assertion failed: timestep"),
        ("trap", "fault", "__trap() was called"),
        ("endless", "fault", "no progress within 1 s"),
    ],
)
def test_a_kernel_that_is_ended_is_a_finding(
    kernel: str, kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "1")
    report = checked("barriers.cu", kernel)
    (finding,) = report.findings
    assert (finding.kind, finding.place.line) == (kind, line_of("barriers.cu", kernel))
    assert words in finding.message
    assert re.fullmatch(r"the check ended in step \d of 8, because a kernel was ended", report.stopped)
    assert not report.clean


@pytest.mark.parametrize(
    ("kernel", "kind", "array", "index", "note"),
    [
        ("first_come", "order", "owner", (0,), False),
        ("float_sum", "order", "sum", (0,), True),
        ("crowd", "neighbours", "x", (2, 0), False),
        ("packed", "packing", "x", (0, 0), False),
    ],
)
def test_what_a_result_must_not_depend_on(
    kernel: str, kind: str, array: str, index: tuple[int, ...], note: bool
) -> None:
    (finding,) = checked("conditions.cu", kernel).findings
    assert (finding.kind, finding.array, finding.index, finding.note) == (kind, array, index, note)
    assert finding.place.line == next(
        number for number, line in enumerate((PLANTED / "conditions.cu").read_text().splitlines(), 1)
        if f"void {kernel}(" in line
    )  # fmt: skip


def test_a_reset_that_shows_an_agent_nothing_new_is_found() -> None:
    (finding,) = found("age", "unwritten.cu", "half_seen")
    lines = (PLANTED / "unwritten.cu").read_text().splitlines()
    line = next(number for number, line in enumerate(lines, 1) if "void half_seen(" in line)
    assert finding == ("reset", line, "observations", (0, 2, 0), 0, (), False)


@pytest.mark.parametrize(("reset", "agent"), [("forget", 0), ("half_forget", 2)])
def test_what_a_reset_leaves_and_nobody_reads_is_a_note(reset: str, agent: int) -> None:
    report = checked("unwritten.cu", "trail", reset)
    (finding,) = report.findings  # env 1 is reset first
    assert (finding.kind, finding.array, finding.index, finding.note) == ("reset", "kept", (1, agent), True)
    assert f"kernel '{reset}' leaves kept[env 1, agent {agent}] as the previous episode left it" in finding.message
    assert report.clean


def test_values_are_told_when_they_first_appear() -> None:
    assert checked("values.cu", "not_a_number").findings[0].step == 4  # 0 / |0|
    assert checked("values.cu", "observation").findings[0].step == 3  # 0.5 * 3 is the first above 1


OTHERS = {
    "clang++": ("clang++", shutil.which("clang++")),
    "zig": (f"{sys.executable} -m ziglang c++", importlib.util.find_spec("ziglang")),
}


def first_of_each_kind() -> list[Any]:
    """Of each kind of finding in each file the first; `make exhaustive` has the others."""
    first: dict[tuple[str, str], Expected] = {}
    for expected in ONE_FINDING:
        first.setdefault((expected.source, expected.kind), expected)
    often = {expected.kernel for expected in first.values()}
    return [pytest.param(expected, marks=() if expected.kernel in often else seldom) for expected in ONE_FINDING]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", OTHERS)
@pytest.mark.parametrize("expected", first_of_each_kind(), ids=lambda expected: expected.kernel)
def test_other_compilers_find_the_same(compiler: str, expected: Expected, monkeypatch: pytest.MonkeyPatch) -> None:
    command, here = OTHERS[compiler]
    if here is None:
        pytest.skip(f"needs {compiler}")
    monkeypatch.setenv("CXX", command)
    (finding,) = checked(expected.source, expected.kernel, expected.reset).findings
    assert_found(finding, expected)


def test_a_missing_guard_is_told_once() -> None:
    """Of all writes of a kernel, the first: one line mends them all."""
    (finding,) = found("open_twice", "guards.cu", "guarded_reset")
    assert finding[:3] == ("guard", line_of("guards.cu", "open_twice"), "x")


def test_a_missing_barrier_is_not_told_as_unwritten_memory_too() -> None:
    """Agents that come first read what others have yet to write; "write it first" would be the wrong advice."""
    kinds = {finding[0] for finding in found("too_early", "unwritten.cu")}
    assert kinds == {"race"}


def test_unwritten_memory_is_told_beside_a_race_elsewhere_in_its_array() -> None:
    told = {finding[:2] for finding in found("never", "unwritten.cu")}
    assert told == {("race", line_of("unwritten.cu", "raced")), ("unwritten", line_of("unwritten.cu", "never"))}


@pytest.mark.long
def test_a_race_for_shared_memory_does_harm_whatever_was_left_there() -> None:
    """A check runs many launches, and others may have run before it."""
    for _ in range(2):
        report = checked("unwritten.cu", "same_as_left")
        (finding,) = report.findings
        assert (finding.kind, finding.note, finding.place.line) == (
            "race",
            False,
            line_of("unwritten.cu", "same_as_left before"),
        )


def test_an_agent_that_goes_around_a_barrier_is_found() -> None:
    report = checked("barriers.cu", "around")
    (finding,) = report.findings
    assert (finding.kind, finding.place.line, finding.agents) == ("barrier", line_of("barriers.cu", "around"), (2,))
    assert f"past the barrier at line {finding.place.line}, where others wait" in finding.message


@pytest.mark.parametrize("kernel", ["before", "before_a_function"])
def test_an_agent_that_has_returned_before_a_barrier_is_no_fault(kernel: str) -> None:
    assert found(kernel, "barriers.cu") == []
