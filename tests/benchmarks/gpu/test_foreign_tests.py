"""Another distribution's top-level package ``tests``, such as WarpDrive's wheel installs, does not shadow ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.gpu import contract
from benchmarks.gpu.part import Context, Part
from benchmarks.gpu.process import run_part

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another current folder, and the other package in front of ours on PYTHONPATH."""
    other = tmp_path / "site" / "tests"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise ImportError('the tests of another distribution')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(other.parent), str(ROOT))))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_a_part_imports_ours(elsewhere: Path) -> None:
    ours = Part("passes", "", "tests.benchmarks.gpu.gpu_parts:passes", 60)
    result = run_part(ours, "cpu", quick=True, limit=60)
    assert (result["status"], result["reason"]) == ("passed", "")


@pytest.mark.heavy
@pytest.mark.long
def test_the_tests_that_the_suite_runs_are_ours(
    elsewhere: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], *_: object) -> tuple[int, str]:
        asked.append(["cpu" if word == "cuda" else word for word in command])
        return 0, "1 passed in 1.0s"

    monkeypatch.setattr(contract, "FOLDERS", ("tests/managers/test_data_manager.py",))
    monkeypatch.setattr(contract, "run_limited", run)
    contract.run_tests(context)
    found = subprocess.run([*asked[0], "--collect-only"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
