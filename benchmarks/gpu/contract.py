"""The project's own tests of envs, worlds with eyes, and trainers, on cuda: the first case of each.

It is built without fused multiply-add, since some tests compare bit for bit with NumPy, which has none.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from warpworld.managers.cpu.workers import available_cores

from .part import Context, SkippedError, UnfinishedError
from .process import run_limited
from .wrong import FOLDER

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    *("tests/cuda", "tests/world", "tests/envs", "tests/managers", "tests/eyes", "tests/trainers"),
    "tests/runs/test_resume.py",
)
# need none, and take their time
WITHOUT_GPU = ("tests/cuda/test_nvcc.py", "tests/cuda/test_nvcc_package.py", "tests/eyes/plans")
USAGE_ERROR = 4  # of pytest


def run_tests(context: Context) -> None:
    """``pytest --device cuda``, with as many workers as cores."""
    if not (ROOT / "tests").is_dir():
        raise SkippedError("the tests are not beside this package; run it from a checkout")
    if importlib.util.find_spec("pytest") is None:
        raise SkippedError("pytest is not installed")
    seconds, folder = context.left(), context.path.parent.absolute()
    code, output = run_limited(command(context.device), seconds, folder / "pytest.txt", {FOLDER: str(folder)})
    figures = read_summary(output)
    context.report(**figures, headline=", ".join(f"{count} {what}" for what, count in figures["counts"].items()))
    if code == USAGE_ERROR and "--device" in output:
        raise SkippedError("these tests have no --device option")
    if code is None:
        raise UnfinishedError(f"not done after {seconds:.0f} s, {figures['progress'] or '0%'} by then")
    if code != 0 and not context.findings:
        context.wrong(f"pytest ended with status {code}: {output[-1000:]}")


def command(device: str) -> list[str]:
    """The command line of pytest; each failure is written down as it comes, see failures.py."""
    words = [sys.executable, "-m", "pytest", "-v", "--tb=short", "--device", device, "--first-cases"]
    words += ["-m", "not slow and not cpu_backend", "--continue-on-collection-errors"]
    words += ["-p", f"{__package__}.failures", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    if importlib.util.find_spec("xdist") is not None:
        words += ["-n", str(available_cores()), "--dist", "worksteal"]
    return [*words, *(str(ROOT / name) for name in FOLDERS), *(f"--ignore={ROOT / name}" for name in WITHOUT_GPU)]


def read_summary(output: str) -> dict[str, Any]:
    """Read ``counts`` by outcome and the last ``progress`` in percent from what ``pytest -v`` prints."""
    last = [line for line in output.splitlines() if re.search(r" in \d+(\.\d+)?s", line)]
    counts = re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed|deselected)", last[-1] if last else "")
    progress = re.findall(r"\[\s*(\d+%)\]", output)
    return {"counts": {what: int(count) for count, what in counts}, "progress": progress[-1] if progress else None}
