"""How much of each kernel ran, line by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.checking.planted_worlds import ARRAYS, PLANTED, checked, line_of
from tests.toys import environment
from warpworld import Group
from warpworld.checking import check
from warpworld.checking.coverage import Coverage
from warpworld.checking.places import Lines

pytestmark = pytest.mark.cpu_backend

SOURCE = "coverage.cu"
FILE = str(PLANTED / SOURCE)


def lines(mark: str) -> Lines:
    """From the line of a mark to that of its end."""
    return Lines(FILE, line_of(SOURCE, mark), line_of(SOURCE, f"{mark}, its end"))


def test_lines_that_never_ran_are_named_with_those_of_functions_that_the_kernel_calls() -> None:
    report = checked(SOURCE, "partly")
    (partly,) = report.coverage
    loop = line_of(SOURCE, "in a loop")
    assert partly.never == (lines("in a helper"), lines("in a branch"), Lines(FILE, loop, loop))
    assert (partly.lines - partly.ran, partly.kernel) == (5, "partly")
    assert report.clean and not report.findings


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.long
def test_line_tables_of_each_version_say_the_same(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = checked(SOURCE, "partly").coverage
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", f"-gdwarf-{version}")
    assert checked(SOURCE, "partly").coverage == expected


def test_without_line_numbers_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", "-g0")
    assert checked(SOURCE, "partly").coverage == ()


def test_a_line_ran_if_a_part_of_it_did() -> None:
    """A test and what depends on it may share a line."""
    (partly,) = checked(SOURCE, "partly").coverage
    shared = [n for n, line in enumerate((PLANTED / SOURCE).read_text().splitlines(), 1) if "1000 ?" in line]
    assert not any(first.first <= shared[0] <= first.last for first in partly.never)


def test_a_kernel_of_which_all_ran_says_so() -> None:
    report = checked(SOURCE, "whole")
    assert str(report).splitlines()[-1] == "  whole: all 4 lines ran"


def test_the_text_names_a_file_once_and_stretches_of_lines() -> None:
    (partly,) = checked(SOURCE, "partly").coverage
    stretches = [str(each).rpartition(":")[2] for each in partly.never]
    assert str(partly).partition("; ")[2].replace(FILE, "coverage.cu").rpartition("/")[2] == (
        f"coverage.cu:{', '.join(stretches)}"
    )


def test_json_has_the_lines_of_each_kernel() -> None:
    (partly,) = checked(SOURCE, "partly").as_dict()["coverage"]
    never = lines("in a branch")
    assert {"file": FILE, "first": never.first, "last": never.last} in partly["never"]
    assert partly["kernel"] == "partly" and partly["lines"] == partly["ran"] + 5


ALL = """#include <warpworld.cuh>
__device__ float unused(float value) { return value + 1.0f; }
extern "C" __global__ void step(float* x, const int* timestep) {
  if (!is_active()) return;
  if (timestep[env_id()] == 1000)
    x[agent_index()] = unused(1.0f);
}
"""


def test_functions_that_no_kernel_called_are_named(tmp_path: Path) -> None:
    path = tmp_path / "all.cu"
    path.write_text(ALL)
    group = Group("agent", 2, Box(0.0, 1.0, (1,), np.float32), Discrete(2))
    report = check(environment(path, ARRAYS, [group], phases=["step"], resets=()), num_envs=2, steps=4)
    assert report.coverage[1] == Coverage("", 1, 0, (Lines(str(path), 2, 2),))
    assert str(report).splitlines()[-1] == f"  no kernel called the functions at {path}:2"
