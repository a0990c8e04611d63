"""What `make mutants` says of faults that tests find, miss, never end with, and that no longer fit the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.mutants import (
    HERE,
    ROOT,
    Fault,
    Outcome,
    chosen,
    copy_tree,
    own_folder,
    read_faults,
    run_tests,
    summary,
    try_fault,
)

CODE = "def double(x):\n    return 2 * x\n\ndef unseen():\n    return 1\n"
TESTS = "from code_ import double\n\ndef test_double():\n    assert double(3) == 6\n"
FILE = "code_.py"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of one module and its test."""
    (tmp_path / FILE).write_text(CODE)
    (tmp_path / "test_code.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    return tmp_path


@pytest.mark.slow  # pytest itself is run
@pytest.mark.parametrize(
    ("before", "after", "verdict", "detail"),
    [
        ("2 * x", "3 * x", "found", "FAILED test_code.py::test_double"),
        ("def double", "def twice", "found", "ERROR test_code.py"),
        ("return 1", "return 2", "survived", "test_code.py"),
        ("return 3", "return 4", "stale", "the text occurs 0 times"),
        ("return", "yield", "stale", "the text occurs 2 times"),
    ],
)
def test_verdicts(tree: Path, before: str, after: str, verdict: str, detail: str) -> None:
    fault = Fault(FILE, before, after, "test_code.py")
    assert try_fault(tree, fault) == Outcome(fault, verdict, detail)
    assert (tree / FILE).read_text() == CODE


@pytest.mark.slow
def test_a_fault_that_hangs_is_found(tree: Path) -> None:
    fault = Fault(FILE, "return 2 * x", "while True: pass", "test_code.py")
    assert try_fault(tree, fault, seconds=3) == Outcome(fault, "found", "no end within 3 s")


@pytest.mark.slow
def test_tests_that_are_not_there_find_nothing(tree: Path) -> None:
    fault = Fault(FILE, "2 * x", "3 * x", "test_gone.py")
    assert try_fault(tree, fault) == Outcome(fault, "stale", "no tests run in test_gone.py")


def test_a_list_gives_each_fault_its_folder(tmp_path: Path) -> None:
    for folder in ("tests/policies", "tests/envs"):
        (tmp_path / folder).mkdir(parents=True)
    listed = tmp_path / "faults.yaml"
    listed.write_text(
        "warpworld/policies/fused/a.py:\n  - {before: x, after: y}\n"
        "warpworld/envs/b.py:\n  - {before: x, after: '', tests: tests/envs/test_b.py}\n"
    )
    assert read_faults(listed, tmp_path) == [
        Fault("warpworld/policies/fused/a.py", "x", "y", "tests/policies"),
        Fault("warpworld/envs/b.py", "x", "", "tests/envs/test_b.py"),
    ]
    assert own_folder("warpworld/new/c.py", tmp_path) == "tests"


def test_a_file_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "faults.yaml"
    listed.write_text("a.py:\n  - {before: x, after: y}\n\na.py:\n  - {before: z, after: y}\n")
    with pytest.raises(ValueError, match=r"a\.py is listed twice"):
        read_faults(listed, tmp_path)


def test_every_fault_of_the_list_fits_the_code() -> None:
    wrong = []
    for fault in read_faults(HERE / "faults.yaml", ROOT):
        source = ROOT / fault.file
        found = source.read_text(encoding="utf-8").count(fault.before) if source.exists() else 0
        if found != 1 or not all((ROOT / path).exists() for path in fault.tests.split() if path.startswith("tests/")):
            wrong.append((fault.file, fault.before, found, fault.tests))
    assert wrong == []


def test_a_sample_depends_on_its_seed_alone() -> None:
    faults = [Fault("a.py" if i % 2 else "b.py", str(i), "", "") for i in range(40)]
    assert chosen(faults, "", None, 0) == faults
    assert len(few := chosen(faults, "a.py", 5, 1)) == 5
    assert few == chosen(faults, "a.py", 5, 1) != chosen(faults, "a.py", 5, 2)
    assert {fault.file for fault in few} == {"a.py"}


@pytest.mark.slow
def test_a_copy_of_the_tree_runs_its_own_package(tmp_path: Path) -> None:
    """Also where the package is installed from elsewhere."""
    root = Path(__file__).parents[2]
    copy_tree(root, tmp_path / "tree")
    check = f"import warpworld\n\ndef test_where():\n    assert warpworld.__file__.startswith({str(tmp_path)!r})\n"
    (tmp_path / "tree" / "tests" / "test_where.py").write_text(check)
    code, output = run_tests(tmp_path / "tree", "tests/test_where.py")
    assert code == 0, output


def test_the_result_names_what_was_not_found() -> None:
    faults = [Fault("a.py", text, "y", "tests/a") for text in "abc"]
    results = [
        Outcome(each, verdict, "why") for each, verdict in zip(faults, ("found", "survived", "stale"), strict=True)
    ]
    assert summary(results[:1], 1, "abc1234", "2026-01-02") == "2026-01-02, commit abc1234: 1 of 1 faults found.\n"
    assert summary(results, 40, "abc1234", "2026-01-02").splitlines() == [
        "2026-01-02, commit abc1234: 1 of 2 faults found, out of the 40 that are listed.",
        "",
        "Not found:",
        "  a.py: `b` -> `y`  [why]",
        "",
        "Not tried, since they no longer fit the code:",
        "  a.py: `c` -> `y`  [why]",
    ]
