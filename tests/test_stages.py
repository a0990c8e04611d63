"""Each test is in a stage that runs it: of those that were collected together with this file."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from tests.quick import LEFT_OUT
from tests.stages import COLLECTED, ROOT, cuda_paths, overrun, run_nowhere, run_seldom

# Tests that `make exhaustive` alone runs, and why: what they find, a test of every push finds in another way.
SELDOM = {
    "tests/runs/test_two_nodes.py::test_a_node_that_is_gone_leaves_the_run_to_the_other": "waits for minutes",
    "tests/docs/test_several_processes_page.py::test_kubernetes": "starts what Slurm starts, from another file",
}
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def item(nodeid: str, *marks: str) -> Any:
    """A test as pytest collects it."""
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda name: name if name in marks else None)


@needs_make
def test_each_test_of_the_cuda_backend_is_run_on_it(request: pytest.FixtureRequest) -> None:
    assert run_nowhere(request.config.stash[COLLECTED], cuda_paths()) == []


def test_each_test_has_a_case_that_every_push_runs(request: pytest.FixtureRequest) -> None:
    found = [name for name in run_seldom(request.config.stash[COLLECTED]) if not name.startswith("tests/benchmarks/")]
    assert [name for name in found if name not in SELDOM] == []


def test_folders_that_make_quick_leaves_out_hold_tests() -> None:
    assert [folder for folder in LEFT_OUT if not any((ROOT / "tests" / folder).glob("**/test_*.py"))] == []


def test_one_that_no_stage_runs_is_named() -> None:
    paths = ["tests/world", "tests/runs/test_resume.py"]
    assert run_nowhere([item("tests/world/a.py::b", "stand_in"), item("tests/cli/a.py::b", "slow")], paths) == []
    assert run_nowhere([item("tests/runs/test_resume.py::b", "cuda_backend")], paths) == []
    assert len(run_nowhere([item("tests/world/a.py::b", "stand_in")], [*paths, "!tests/world/a.py"])) == 1
    (slow,) = run_nowhere([item("tests/world/a.py::b", "cuda_backend", "slow")], paths)
    assert slow == "tests/world/a.py::b needs the cuda backend, where no slow test runs: mark it heavy"
    (elsewhere,) = run_nowhere([item("tests/worlds/a.py::b", "stand_in")], paths)
    assert elsewhere.endswith("needs the cuda backend: add it to CUDA_TESTS in the Makefile")


def test_one_whose_cases_are_all_exhaustive_is_named() -> None:
    items = [item("t.py::often[1]"), item("t.py::often[2]", "exhaustive"), item("t.py::seldom[1]", "exhaustive")]
    assert run_seldom(items) == ["t.py::seldom"]


@pytest.mark.parametrize(
    ("marks", "seconds", "words"),
    [
        ((), 0.9, None),
        ((), 1.1, "t.py::a: 1.1 s, and no mark is for up to 0.33 s"),
        (("long",), 4.0, None),
        (("long",), 5.0, "t.py::a: 5.0 s, and long is for up to 1.5 s"),
        (("long", "heavy"), 59.0, None),
        (("long", "heavy"), 61.0, "t.py::a: 61.0 s, and heavy is for up to 20 s"),
        (("slow",), 900.0, None),
    ],
)
def test_one_that_takes_longer_than_its_marks_allow_is_reported(
    marks: tuple[str, ...], seconds: float, words: str | None
) -> None:
    assert overrun(item("t.py::a", *marks), seconds) == words
