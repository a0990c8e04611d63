"""A barrier in a branch is found as that branch, before the races across it."""

from __future__ import annotations

import re

import pytest

from tests.checking.planted_worlds import PLANTED, checked, line_of
from warpworld.checking.places import Place

pytestmark = pytest.mark.cpu_backend

SOURCE, OTHER_FILE = "branches.cu", "turns_of_players.cuh"
KERNELS = re.findall(r"__global__ void (\w+)\(", (PLANTED / SOURCE).read_text())


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_first_finding_is_the_branch(kernel: str) -> None:
    first, *others = checked(SOURCE, kernel).findings
    assert (first.kind, first.kernel, first.note) == ("barrier", kernel, False)
    file = OTHER_FILE if kernel == "in_another_file" else SOURCE
    assert first.place == Place(str(PLANTED / file), line_of(file, kernel))
    assert first.also  # the lines that race across the barrier
    assert "branch" in first.advice
    assert not any("before the loop repeats" in finding.advice for finding in others)


def test_a_branch_that_all_agents_take_now_and_then_is_named_with_the_lines_around_it() -> None:
    (finding,) = checked(SOURCE, "now_and_then").findings
    line = line_of(SOURCE, "now_and_then")
    assert finding.message == (
        f"kernel 'now_and_then', env 0: the barrier at line {line} is in this branch, and lines around it race: "
        f"{line - 1} and {line + 1}"
    )
    assert finding.advice == "move the barrier out of the branch, so that all agents of the env reach it"


def test_lines_of_another_file_are_named_with_it() -> None:
    (finding,) = checked(SOURCE, "in_another_file").findings
    assert re.search(r"the barrier at branches.cu:(\d+) is in this branch, .*: branches.cu:\d+ and ", finding.message)


def test_an_agent_that_bypasses_a_barrier_is_named_with_the_races_that_follow() -> None:
    (finding,) = checked(SOURCE, "in_an_else").findings
    barrier = line_of(SOURCE, "in_an_else") + 3
    assert finding.message == (
        f"kernel 'in_an_else', env 0: agent 1 has continued past the barrier at line {barrier}, where others wait; "
        f"lines that race because of it: {barrier - 4} and {barrier + 2}"
    )
