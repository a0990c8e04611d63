"""compute-sanitizer's memcheck over the kernels of every env, in small worlds.

The store is one block, so that memcheck sees what runs past its ends, not what runs from one array into the next.
"""

from __future__ import annotations

import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

from .compare import Course, courses
from .part import CheckError, Context, SkippedError, UnfinishedError
from .process import run_limited

TOOL = "compute-sanitizer"
FOUND = 77  # the tool's exit status where it found something
AT_ONCE = 4
REFUSALS = ("Device not supported", "Unable to", "not supported on")


def memcheck(context: Context) -> None:
    """A few steps and resets of each."""
    if shutil.which(TOOL) is None:
        raise SkippedError(f"{TOOL} is not on PATH")
    chosen = courses()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda number: _run(context, number), range(len(chosen))))
    wrong, late = [], []
    for course, (code, output) in zip(chosen, results, strict=True):
        errors = read_errors(output)
        context.row(world=course.name, params=dict(course.params), errors=errors, status=code)
        if errors is None and (refusal := _refusal(output)):
            raise SkippedError(f"{TOOL}: {refusal}")
        if errors or code not in (0, None):
            wrong.append(f"{_name(course)}: {_first_error(output)}")
        elif code is None:
            late.append(_name(course))
        elif errors is None:
            wrong.append(f"{_name(course)}: {TOOL} gave no summary: {output[-300:]}")
    if wrong:
        raise CheckError("; ".join(wrong))
    if late:
        raise UnfinishedError(f"{len(late)} of {len(chosen)} worlds were not done in time: {'; '.join(late)}")
    context.report(headline=f"{len(chosen)} worlds, 0 errors")


def _run(context: Context, number: int) -> tuple[int | None, str]:
    command = [TOOL, "--tool", "memcheck", "--error-exitcode", str(FOUND), "--report-api-errors", "no"]
    command += [sys.executable, "-m", f"{__package__}.few_steps", str(number), context.device]
    log = context.path.with_name(f"memcheck-{number}.txt")
    return run_limited(command, context.left(), log, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})


def read_errors(output: str) -> int | None:
    """The number of errors that the tool counted, None if it did not come so far."""
    found = re.findall(r"ERROR SUMMARY: (\d+) error", output)
    return int(found[-1]) if found else None


def _refusal(output: str) -> str | None:
    return next((line.strip("= \t") for line in output.splitlines() if any(text in line for text in REFUSALS)), None)


def _first_error(output: str) -> str:
    lines = [line.strip("= \t") for line in output.splitlines() if line.startswith("=========")]
    lines = [line for line in lines if line and not line.startswith("COMPUTE-SANITIZER")]
    return " / ".join(lines[:3]) or output[-300:]


def _name(course: Course) -> str:
    return f"{course.name} {dict(course.params)}"
