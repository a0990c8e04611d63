"""The stages of the tests: what CONTRIBUTING.md says of them, checked on the tests that were collected."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COLLECTED = pytest.StashKey[list[pytest.Item]]()

# Marks of tests that need the cuda backend, which `make test-cuda` alone has.
ON_CUDA = ("cuda_backend", "stand_in")
# Seconds that a test may take in its own process, by the heaviest of its marks.
SECONDS = {"slow": float("inf"), "heavy": 20.0, "long": 1.5, "": 1 / 3}
# A test is reported beyond so many times its seconds, and fails beyond so many: processors differ, and workers that
# wait for work count as well.
TOLERANCE, LIMIT = 3.0, 30.0
MANY_MODULES = 30  # as a library has


def cuda_paths() -> list[str]:
    """The paths that `make test-cuda` tests, relative to the root; those that it leaves out begin with "!"."""
    words = ["make", "--dry-run", "--assume-old=.venv/.installed-cuda-tools", "test-cuda"]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = shlex.split(printed)
    left_out = [f"!{word.removeprefix('--ignore=')}" for word in words if word.startswith("--ignore=")]
    return [*(word for word in words if word.startswith("tests/")), *left_out]


def run_nowhere(items: Sequence[pytest.Item], paths: Sequence[str]) -> list[str]:
    """Tests that need the cuda backend and that `make test-cuda` leaves out, with the reason."""
    found = []
    for item in items:
        if not any(map(item.get_closest_marker, ON_CUDA)):
            continue
        file = item.nodeid.partition("::")[0]
        if item.get_closest_marker("slow"):
            found.append(f"{item.nodeid} needs the cuda backend, where no slow test runs: mark it heavy")
        elif not _is_among(file, paths) or _is_among(f"!{file}", paths):
            found.append(f"{item.nodeid} needs the cuda backend: add it to CUDA_TESTS in the Makefile")
    return found


def _is_among(file: str, paths: Sequence[str]) -> bool:
    """Whether a path is that of a file, or of a folder around it."""
    return any(file == path or file.startswith(f"{path}/") for path in paths)


def run_seldom(items: Sequence[pytest.Item]) -> list[str]:
    """Test functions all of whose cases are marked exhaustive: no push runs any."""
    often: dict[str, bool] = {}
    for item in items:
        function = item.nodeid.partition("[")[0]
        often[function] = often.get(function, False) or item.get_closest_marker("exhaustive") is None
    return [function for function, is_often in often.items() if not is_often]


def heaviest_mark(item: pytest.Item) -> str:
    """The mark that sets how long a test may take; "" if it has none of them."""
    return next((mark for mark in ("slow", "heavy", "long") if item.get_closest_marker(mark)), "")


def overrun(item: pytest.Item, seconds: float, times: float = TOLERANCE) -> str | None:
    """A line on a test that took ``seconds``, if that is more than so many times what its marks allow."""
    mark = heaviest_mark(item)
    if seconds <= times * SECONDS[mark]:
        return None
    return f"{item.nodeid}: {seconds:.1f} s, and {mark or 'no mark'} is for up to {SECONDS[mark]:.2g} s"


def note_of_time(item: pytest.Item) -> Generator[None, None, None]:
    """Keep, as a property of a test's report, that it took longer than its marks allow, and fail one in a wrong stage.

    Processor time of this process is counted: neither other programs nor compilers make it longer. A test that is the
    first to load some library is left out. None fails on the cuda backend, for which marks are not made.
    """
    began, loaded = time.process_time(), len(sys.modules)
    yield
    seconds = time.process_time() - began
    line = overrun(item, seconds)
    if line is None or len(sys.modules) - loaded >= MANY_MODULES:
        return
    item.user_properties.append(("wrong_stage", line))
    if item.config.getoption("device") == "cpu" and not item.config.getoption("stand_in"):
        check_stage(item, seconds)


def check_stage(item: pytest.Item, seconds: float) -> None:
    """Fail a test that took so long that it belongs into another stage."""
    if line := overrun(item, seconds, LIMIT):
        pytest.fail(f"{line}; mark it for its stage: see CONTRIBUTING.md", pytrace=False)
