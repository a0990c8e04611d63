"""The project's own tests of envs, worlds and trainers, on cuda."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

from .part import CheckError, Context, SkippedError
from .process import run_limited

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    *("tests/managers", "tests/world", "tests/envs", "tests/trainers", "tests/cuda"),
    *("tests/runs/test_resume.py", "tests/test_random.py"),
)
WITHOUT_GPU = ("tests/cuda/test_nvcc.py",)  # needs none, and takes its time
USAGE_ERROR = 4  # of pytest


def run_tests(context: Context) -> None:
    """``pytest --device cuda``, on several cores."""
    if not (ROOT / "tests").is_dir():
        raise SkippedError("the tests are not beside this package; run it from a checkout")
    command = [sys.executable, "-m", "pytest", "-q", "--device", "cuda", "-m", "not slow and not cpu_backend"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(ROOT), *(str(ROOT / name) for name in FOLDERS)]
    command += [f"--ignore={ROOT / name}" for name in WITHOUT_GPU]
    if importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(max(1, min(8, (os.cpu_count() or 1) - 1)))]
    seconds = context.left()
    code, output = run_limited(command, seconds, context.path.with_name("pytest.txt"))
    figures = read_summary(output)
    context.report(**figures, headline=", ".join(f"{count} {what}" for what, count in figures["counts"].items()))
    if code == USAGE_ERROR and "--device" in output:
        raise SkippedError("these tests have no --device option")
    if code is None:
        raise CheckError(f"not done after {seconds:.0f} s, {figures['progress'] or '0%'} by then")
    if code:
        raise CheckError("; ".join(figures["failed"][:5]) or output[-1000:])


def read_summary(output: str) -> dict[str, Any]:
    """What pytest's last lines say: ``counts`` by outcome, ``failed`` tests, ``progress`` in percent."""
    last = [line for line in output.splitlines() if re.search(r" in \d+(\.\d+)?s", line)]
    counts = re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed|deselected)", last[-1] if last else "")
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    progress = re.findall(r"\[\s*(\d+%)\]", output)
    return {
        "counts": {what: int(count) for count, what in counts},
        "failed": failed,
        "progress": progress[-1] if progress else None,
    }
