"""The suite is stopped by signals: its parts end with it, and what was found is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.gpu.suite_tools import ROOT, alive

PATIENCE = 60.0  # seconds on a loaded machine
# The suite, of a part that ends well, one that finds something and hangs, and one more.
SUITE = """
import sys
from benchmarks.gpu import main
from benchmarks.gpu.part import Part
of = "tests.benchmarks.gpu.gpu_parts:"
names = ("passes", "finds_and_hangs", "raises")
main.PARTS = tuple(Part(name, name, of + name, 600, correctness=True, needs_cuda=False) for name in names)
sys.exit(main.main(sys.argv[1:]))
"""


def wait_for(what: Callable[[], Any]) -> Any:
    """Return what it returns once that is true."""
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The suite, while its second part hangs."""
    command = [sys.executable, "-c", SUITE, "--device", "cpu", "--quick", "--budget", "700"]
    command += ["--save", str(tmp_path / "gpu.json"), "--logs", str(tmp_path / "logs")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: processes_of(tmp_path))
        yield process
    finally:
        process.kill()
        process.wait()


def processes_of(folder: Path) -> list[int]:
    """The processes that the part which hangs has reported."""
    try:
        return json.loads((folder / "logs" / "finds_and_hangs" / "figures.json").read_text()).get("processes", [])
    except FileNotFoundError:
        return []


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_part_and_keeps_what_was_found(
    number: signal.Signals, suite: subprocess.Popen[str], tmp_path: Path
) -> None:
    suite.send_signal(number)
    printed, _ = suite.communicate(timeout=PATIENCE)
    assert suite.returncode == 128 + number
    assert f"stopped by {number.name}" in printed and "GPU suite: cpu" in printed
    parts = json.loads((tmp_path / "gpu.json").read_text())["parts"]
    assert {name: found["status"] for name, found in parts.items()} == {
        "passes": "passed",
        "finds_and_hangs": "failed",
        "raises": "skipped",
    }
    stopped = f"was ended as the suite was stopped by {number.name}"
    assert parts["finds_and_hangs"]["reason"].startswith(f"3 is not 4\n5 is not 6\n{stopped}")
    assert parts["finds_and_hangs"]["figures"]["rows"] == [{"found": "before"}]
    assert parts["raises"]["reason"] == f"the suite was stopped by {number.name} before"
    assert not any(map(alive, processes_of(tmp_path)))


@pytest.mark.heavy
@pytest.mark.long
def test_a_part_ends_itself_when_the_suite_is_killed(suite: subprocess.Popen[str], tmp_path: Path) -> None:
    suite.kill()
    suite.wait()
    wait_for(lambda: not any(map(alive, processes_of(tmp_path))))
    parts = json.loads((tmp_path / "gpu.json").read_text())["parts"]
    assert [parts[name]["status"] for name in ("passes", "finds_and_hangs")] == ["passed", "running"]
    logs = tmp_path / "logs" / "finds_and_hangs"
    assert "3 is not 4" in (logs / "wrong.jsonl").read_text()
