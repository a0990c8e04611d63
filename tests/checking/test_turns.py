"""Agents beyond a block's threads take turns: a check watches all of them, and no turn orders them."""

from __future__ import annotations

import re

import pytest

from tests.checking.planted_worlds import line_of, planted
from warpworld.checking import Finding, Report, check
from warpworld.checking.check_backend import CheckBackend
from warpworld.errors import DeviceError

pytestmark = pytest.mark.cpu_backend
SOURCE, NUM_AGENTS, NUM_ENVS = "turns.cu", 2000, 2
READ, WRITE = (False,), (True,)


def checked(kernel: str, reset: str | None = None, num_envs: int = NUM_ENVS, steps: int = 3) -> Report:
    return check(planted(SOURCE, kernel, reset, NUM_AGENTS), num_envs, steps)


def only(kernel: str, reset: str | None = None) -> Finding:
    (finding,) = checked(kernel, reset).findings
    return finding


def test_nothing_is_found_in_a_correct_kernel() -> None:
    assert checked("correct", "guarded_reset").findings == ()


@pytest.mark.parametrize(
    ("kernel", "array", "index", "agents", "writes"),
    [
        ("two_writers", "hits", (0,), (1500, 3), (True, True)),
        ("far_neighbour", "x", (0, 3), (1500, 3), (False, True)),
        ("one_thread", "hits", (0,), (1029, 5), (True, True)),  # which a block of 1,024 threads has in turn
        ("mixed_atomic", "hits", (0,), (1999, 2), (True, True)),
    ],
)
def test_a_race_of_any_two_agents_is_found(
    kernel: str, array: str, index: tuple[int, ...], agents: tuple[int, ...], writes: tuple[bool, ...]
) -> None:
    found = only(kernel)
    assert (found.kind, found.array, found.index, found.env) == ("race", array, index, 0)
    assert (found.agents, found.writes) == (agents, writes)
    assert f"agent {agents[0]} " in found.message and f"agent {agents[1]} " in found.message
    lines = {place.line for place in (found.place, found.other) if place}
    marks = [kernel] if found.place == found.other else [kernel, f"{kernel} before"]
    assert lines == {line_of(SOURCE, mark) for mark in marks}


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [
        ("two_writers", "use an atomic operation such as atomicAdd, or let one agent do it in another kernel"),
        (
            "far_neighbour",
            "where agents compete, do both in one atomic operation, or put one of the two into another kernel: agents "
            "that take turns have no sync_env()",
        ),
        (
            "mixed_atomic",
            "make both atomic, or put one of the two into another kernel: agents that take turns have no sync_env()",
        ),
    ],
)
def test_advice_names_no_barrier_that_the_build_would_refuse(kernel: str, advice: str) -> None:
    assert only(kernel).advice == advice


def test_races_that_a_barrier_would_fix_are_not_joined() -> None:
    findings = checked("two_arrays").findings
    lines = [line_of(SOURCE, "two_arrays before")] * 2
    assert [(f.kind, f.array, f.place.line) for f in findings] == [("race", "x", lines[0]), ("race", "y", lines[1])]
    assert all("put sync_env()" not in finding.advice and not finding.also for finding in findings)


@pytest.mark.parametrize(
    ("kernel", "kind", "array", "index", "agents", "writes"),
    [
        ("one_agent_beyond", "out-of-bounds", "x", (NUM_ENVS * NUM_AGENTS + 7,), (1030,), WRITE),
        ("next_env", "other-env", "x", (1, 0), (1999,), READ),
        ("half", "unwritten", "empty", (0, 1300), (1300,), READ),
        ("overflow", "undefined", "", (), (1998,), READ),
        ("drawn_again", "random", "", (), (1999,), READ),
    ],
)
def test_a_fault_of_one_agent_names_it(
    kernel: str, kind: str, array: str, index: tuple[int, ...], agents: tuple[int, ...], writes: tuple[bool, ...]
) -> None:
    found = only(kernel)
    assert (found.kind, found.array, found.index, found.env) == (kind, array, index, 0)
    assert (found.agents, found.writes, found.place.line) == (agents, writes, line_of(SOURCE, kernel))
    assert f"agent {agents[0]} " in found.message


def test_a_result_that_depends_on_who_is_first() -> None:
    found = only("first_come")
    assert (found.kind, found.array) == ("order", "owner")
    assert found.message == "kernel 'first_come': owner[env 0] is 100, but 1100 when agents run backward"


def test_an_agent_that_ends_its_kernel() -> None:
    report = checked("assertion")
    (found,) = report.findings
    assert (found.kind, found.agents, found.place.line) == ("fault", (1700,), line_of(SOURCE, "assertion"))
    assert report.stopped == "the check ended in step 1 of 3, because a kernel was ended"


def test_a_reset_without_a_guard() -> None:
    found = only("correct", "open_reset")
    assert (found.kind, found.place.line) == ("guard", line_of(SOURCE, "open_reset"))


def test_envs_that_are_slow_together_make_progress_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_KERNEL_TIMEOUT", "1")
    report = checked("slow", num_envs=6, steps=1)  # 0.2 s each, and more on a busy machine
    assert report.findings == () and not report.stopped


def test_memory_that_a_check_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([2**30])  # for the store, and less for what watches it
    monkeypatch.setattr(CheckBackend, "free_memory", lambda self: next(free, 2**20))
    with pytest.raises(DeviceError) as caught:
        checked("correct", "guarded_reset")
    words = r"no memory to watch [\d,]+ elements of arrays: 64 bytes each are \d+\.\d MB, and 1.0 MB are free; "
    assert re.fullmatch(words + "check fewer envs or agents", str(caught.value))
