"""The part "contract" reports the tests that fail, as they fail."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

import benchmarks.gpu
from benchmarks.gpu import child, contract
from benchmarks.gpu.part import Context
from benchmarks.gpu.wrong import FOLDER

PART = "benchmarks.gpu.contract:run_tests"
FAILING = """
import time
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_holds(number): pass

@pytest.mark.parametrize("number", [3, 4])
def test_fails(number):
    print("said before")
    assert number == 5

@pytest.fixture
def broken(): raise OSError("no disk")

def test_errs(broken): pass
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--device")
    parser.addoption("--first-cases", action="store_true")
"""


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout's folder of tests, for the part."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow: s\n  cpu_backend: c\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    monkeypatch.setattr(contract, "ROOT", tmp_path)
    monkeypatch.setattr(contract, "FOLDERS", ("tests",))
    monkeypatch.setattr(contract, "WITHOUT_GPU", ())
    return folder


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("workers", [False, True])
def test_failures_and_files_that_cannot_be_collected_are_named(
    workers: bool, tests: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tests / "test_some.py").write_text(FAILING)
    (tests / "test_other.py").write_text("import no_such_module\n")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        contract.importlib.util, "find_spec", lambda name: found(name) if workers or name != "xdist" else None
    )
    ended = child.run(PART, context)
    assert ended["status"] == "failed"
    assert sorted(ended["reason"].splitlines()) == [
        "tests/test_other.py (not collected): ModuleNotFoundError: No module named 'no_such_module'",
        "tests/test_some.py::test_errs: OSError: no disk",
        "tests/test_some.py::test_fails[3]: assert 3 == 5",
        "tests/test_some.py::test_fails[4]: assert 4 == 5",
    ]
    assert context.figures["counts"] == {"failed": 2, "passed": 2, "errors": 2}
    log = context.path.with_name("failures.txt").read_text()
    assert "=== tests/test_some.py::test_fails[3]\n" in log and "said before" in log
    assert "passed" in context.path.with_name("pytest.txt").read_text()


@pytest.mark.heavy
@pytest.mark.long
def test_failures_before_the_time_was_over_are_reported(
    tests: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def until_a_failure(
        command: list[str], limit: float, log: Path, environment: Mapping[str, str]
    ) -> tuple[None, str]:
        """The time is over as soon as something was found."""
        with log.open("w") as output:
            process = subprocess.Popen(command, stdout=output, env={**os.environ, **environment})
        while not context.findings and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        process.wait()
        return None, log.read_text()

    monkeypatch.setattr(contract, "run_limited", until_a_failure)
    (tests / "test_some.py").write_text(
        "import time\ndef test_fails(): assert 3 == 4\ndef test_hangs(): time.sleep(600)"
    )
    ended = child.run(PART, context)
    assert ended["status"] == "failed"
    first, last = ended["reason"].splitlines()
    assert first == "tests/test_some.py::test_fails: assert 3 == 4"
    assert last.startswith("not done after")


def test_without_pytest_the_part_is_skipped(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.gpu, "contract", contract)  # as it is found
    for name in ("contract", "failures"):
        monkeypatch.delitem(sys.modules, f"benchmarks.gpu.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "pytest", None)
    assert child.run(PART, context) == {"status": "skipped", "reason": "pytest is not installed"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        ((0, "== 3 passed in 1.00s =="), "passed", ""),
        ((None, "tests/a.py::test_b PASSED [ 37%]"), "not finished", "not done after 51 s, 37% by then"),
        ((5, "no tests ran"), "failed", "pytest ended with status 5: no tests ran"),
        ((4, "unrecognized arguments: --device"), "skipped", "these tests have no --device option"),
    ],
)
def test_pytest_that_reports_no_failure(
    end: tuple[int | None, str],
    status: str,
    reason: str,
    tests: Path,
    context: Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contract, "run_limited", lambda *_: end)
    monkeypatch.setattr(Context, "left", lambda _: 51.0)
    assert child.run(PART, context) == {"status": status, "reason": reason}


@pytest.mark.heavy
@pytest.mark.long
def test_the_first_case_of_each_test_is_asked_for() -> None:
    words = contract.command("cpu")
    words[words.index("-v")] = "-q"
    words = [word for word in words if "/tests/" not in word]
    file = contract.ROOT / "tests" / "envs" / "cartpole"
    listed = subprocess.run(
        [*words, "--collect-only", str(file)],
        cwd=contract.ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, FOLDER: "."},
    ).stdout
    names = [line.partition("[")[0] for line in listed.splitlines() if "::" in line]
    assert names and len(names) == len(set(names))
