"""The project's own tests of envs, worlds with eyes, and trainers, on cuda.

It is built without fused multiply-add, since some tests compare bit for bit with NumPy, which has none.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

from .part import CheckError, Context, SkippedError, UnfinishedError
from .process import run_limited

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    *("tests/managers", "tests/world", "tests/envs", "tests/eyes", "tests/trainers", "tests/cuda"),
    "tests/runs/test_resume.py",
)
# need none, and take their time
WITHOUT_GPU = ("tests/cuda/test_nvcc.py", "tests/cuda/test_nvcc_package.py", "tests/eyes/plans")
USAGE_ERROR = 4  # of pytest
FAILURE = re.compile(
    r"^(\S+::.*?) (?:FAILED|ERROR) +\[ *\d+%\]"  # in one process
    r"|^(?:\[gw\d+\] \[ *\d+%\] )?(?:FAILED|ERROR) (\S+::.*?)(?: - .*| *)$",  # in a worker, and in the last lines
    re.MULTILINE,
)


def run_tests(context: Context) -> None:
    """``pytest --device cuda``, on several cores."""
    if not (ROOT / "tests").is_dir():
        raise SkippedError("the tests are not beside this package; run it from a checkout")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "--tb=short",
        "--device",
        "cuda",
        "-m",
        "not slow and not cpu_backend",
    ]
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
    judge(code, figures, output, seconds)


def judge(code: int | None, figures: dict[str, Any], output: str, seconds: float) -> None:
    """Refuse a run of the tests that did not end with status 0.

    Args:
        code: pytest's exit status; None if it was ended after ``seconds``.
        figures: what ``read_summary`` read.
        output: all that pytest printed.
        seconds: that it had.

    Raises:
        CheckError: a test failed, also where the others were not done.
        UnfinishedError: the time was over, and no test had failed by then.
    """
    if code == 0:
        return
    said = [f"{len(figures['failed'])} failed", *figures["failed"][:5]] if figures["failed"] else []
    if code is None:
        said.insert(0, f"not done after {seconds:.0f} s, {figures['progress'] or '0%'} by then")
    if code is None and not figures["failed"]:
        raise UnfinishedError(f"{said[0]}, and no test had failed")
    raise CheckError("; ".join(said) or output[-1000:])


def read_summary(output: str) -> dict[str, Any]:
    """What ``pytest -v`` says: ``counts`` by outcome, ``failed`` tests, ``progress`` in percent.

    Where it did not come to its last lines, failures are those that it told while it ran.
    """
    last = [line for line in output.splitlines() if re.search(r" in \d+(\.\d+)?s", line)]
    counts = re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed|deselected)", last[-1] if last else "")
    failed = [alone or tests for alone, tests in FAILURE.findall(output)]
    progress = re.findall(r"\[\s*(\d+%)\]", output)
    return {
        "counts": {what: int(count) for count, what in counts},
        "failed": list(dict.fromkeys(failed)),
        "progress": progress[-1] if progress else None,
    }
