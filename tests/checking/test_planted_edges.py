"""Faults at the edges: atomics as first accesses, several races of one write, warps, orders, exact bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.checking.planted_worlds import ARRAYS, NUM_ENVS, PLANTED, checked, line_of, planted
from tests.toys import environment
from warpworld import Array, Environment, Group, Kernel
from warpworld.checking import Finding, check

pytestmark = pytest.mark.cpu_backend
SOURCE = "edges.cu"


def line(mark: str) -> int:
    return line_of(SOURCE, mark)


def found(kernel: str, reset: str | None = None) -> list[tuple[Any, ...]]:
    return [(f.kind, f.place.line, f.array, f.index, f.note) for f in checked(SOURCE, kernel, reset).findings]


def of_many(num_agents: int, kernel: str) -> Environment:
    """With more agents than the planted worlds have."""
    group = Group("agent", num_agents, observation=Box(0.0, 1.0, (1,), np.float32), action=Discrete(3))
    return environment(PLANTED / SOURCE, ARRAYS, [group], phases=[kernel], resets=())


# ---- atomics --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kernel", "array", "index", "element", "who"),
    [
        ("atomic_first", "count", (0,), "shared count", "no agent of the env has written in this launch"),
        ("atomic_on_empty", "empty", (0, 0), "empty[env 0, agent 0]", "has not been written"),
    ],
)
def test_an_atomic_update_of_what_nobody_has_written(
    kernel: str, array: str, index: tuple[int, ...], element: str, who: str
) -> None:
    (finding,) = checked(SOURCE, kernel).findings
    assert (finding.kind, finding.place.line, finding.array, finding.index) == (
        "unwritten",
        line(kernel),
        array,
        index,
    )
    assert f"agent 0 updates atomically {element}, which {who}" in finding.message


def test_an_atomic_update_of_what_the_episode_before_left() -> None:
    (finding,) = checked(SOURCE, "atomic_on_stale", reset="leave").findings
    assert (finding.kind, finding.place.line, finding.array) == ("reset", line("atomic_on_stale"), "kept")
    assert "agent 0 updates atomically kept[env 0, agent 0], which the reset left as it was" in finding.message


def test_what_nobody_has_ever_written_is_not_of_the_episode_before() -> None:
    groups = planted(SOURCE, "never_written").groups()
    arrays = [*ARRAYS, Array("bare", "float32")]
    declared = environment(PLANTED / SOURCE, arrays, groups, phases=["never_written"], resets=("leave",))
    (finding,) = check(declared, num_envs=NUM_ENVS, steps=8).findings
    assert (finding.kind, finding.place.line) == ("unwritten", line("never_written"))


# ---- races ----------------------------------------------------------------------------------------------------------
def test_a_write_of_a_whole_vector_races_with_each_component_s_writer() -> None:
    (finding,) = checked(SOURCE, "whole_vector").findings
    assert finding.place.line == line("whole_vector") and finding.index == (0, 0, 0)
    assert finding.other is not None and finding.other.line == line("x before whole_vector")
    ((one, other),) = finding.also
    assert (one.line, other.line) == (line("y before whole_vector"), line("whole_vector"))


def test_lines_that_race_with_the_same_one_are_told_apart() -> None:
    (finding,) = checked(SOURCE, "two_lines").findings
    assert finding.other is not None
    pairs = [(finding.other, finding.place), *finding.also]
    lines = sorted(sorted(place.line for place in pair) for pair in pairs)
    assert lines == sorted([line(f"two_lines {which}"), line("two_lines read")] for which in ("odd", "even"))


def test_a_race_between_envs_names_both() -> None:
    (finding,) = checked("races.cu", "between_envs").findings
    assert "env 1: agent 0 writes total, which agent 0 of env 0 wrote at the same line" in finding.message


def test_lanes_that_meet_in_their_warps_have_not_met_those_of_others() -> None:
    (finding,) = check(of_many(64, "across_warps"), num_envs=2, steps=2).findings
    assert (finding.kind, finding.array, finding.agents) == ("race", "cell", (32, 0))
    assert finding.place.line == line("across_warps")


# ---- other conditions -----------------------------------------------------------------------------------------------
def test_an_order_that_is_neither_forward_nor_backward_is_tried() -> None:
    (finding,) = checked(SOURCE, "first_pair").findings
    assert (finding.kind, finding.array) == ("order", "hits")
    assert "when agents run in a shuffled order" in finding.message


def test_the_backward_order_is_tried_first() -> None:
    (finding,) = checked("conditions.cu", "first_come").findings
    assert "is 0, but 3 when agents run backward" in finding.message


def test_a_float_that_differs_by_more_than_rounding_is_no_note() -> None:
    (finding,) = checked(SOURCE, "last_of_all").findings
    assert (finding.kind, finding.array, finding.note) == ("order", "sum", False)


def test_no_number_is_like_another_one() -> None:
    assert {finding.kind for finding in checked(SOURCE, "last_of_no_number").findings} == {"not-finite"}


def test_of_numbers_that_are_drawn_again_one_after_the_other_the_first_is_told() -> None:
    (finding,) = checked(SOURCE, "three_of_each").findings
    assert (finding.kind, finding.place.line) == ("random", line("three_of_each"))
    assert finding.other is not None and finding.other.line == line("three_of_each before")


# ---- bounds ---------------------------------------------------------------------------------------------------------
def test_a_write_some_way_behind_a_shared_array_is_named_with_it() -> None:
    (finding,) = found("just_behind")
    assert finding == ("out-of-bounds", line("just_behind"), "row", (200,), False)


def test_a_kernel_that_may_touch_other_envs_may_not_leave_the_array() -> None:
    def of(kernel: str) -> tuple[Finding, ...]:
        group = planted(SOURCE, kernel).groups()
        declared = environment(PLANTED / SOURCE, ARRAYS, group, phases=[Kernel(kernel, own_env_only=False)], resets=())
        return check(declared, num_envs=NUM_ENVS, steps=4).findings

    assert {finding.kind for finding in of("over_the_fence")} <= {"neighbours"}
    kinds = [(finding.kind, finding.place.line) for finding in of("behind_the_fence")]
    assert kinds == [("out-of-bounds", line("behind_the_fence"))]


def test_values_at_their_bounds_are_within_them() -> None:
    assert found("at_bounds") == []


@pytest.mark.parametrize(
    ("kernel", "kind", "array", "index"),
    [("below_bounds", "bounds", "side", (0, 3)), ("below_space", "observation", "observations", (0, 2, 0))],
)
def test_values_below_are_found_as_those_above_are(kernel: str, kind: str, array: str, index: tuple[int, ...]) -> None:
    assert found(kernel) == [(kind, line(kernel), array, index, False)]


@pytest.mark.parametrize(
    ("kernel", "ends"), [("near_above", False), ("far_above", True), ("near_below", False), ("far_below", True)]
)
def test_an_index_far_outside_of_a_local_array_ends_its_kernel(
    kernel: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to 64 elements beside it there is the agent's own stack, of which a read does no harm."""
    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)  # what lies there depends on how the kernel is compiled
    report = checked(SOURCE, kernel)
    kinds = {(finding.kind, finding.place.line) for finding in report.findings if not finding.note}
    assert ("undefined", line("outside")) in kinds
    assert bool(report.stopped) == ends
