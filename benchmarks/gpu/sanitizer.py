"""compute-sanitizer's memcheck over the kernels of every env, in small worlds.

The store is one block, so that memcheck sees what runs past its ends, not what runs from one array into the next.
"""

from __future__ import annotations

import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from warpworld.managers.cpu.workers import available_cores

from .compare import ComparedWorld, compared_worlds, name_of
from .part import Context, SkippedError, unreached
from .process import run_limited

TOOL = "compute-sanitizer"
FOUND = 77  # the tool's exit status where it found something
REFUSALS = ("Device not supported", "Unable to", "not supported on")


def memcheck(context: Context) -> None:
    """A few steps and resets of each, in the order of ``compared_worlds()``."""
    if shutil.which(TOOL) is None:
        raise SkippedError(f"{TOOL} is not on PATH")
    chosen = compared_worlds()
    pool = ThreadPoolExecutor(available_cores())
    try:
        runs = {pool.submit(_run, context, number): compared for number, compared in enumerate(chosen)}
        ended = ((runs[run], run.result()) for run in as_completed(runs))
        late = [name_of(compared) for compared, end in ended if not _is_done(context, compared, *end)]
    finally:
        pool.shutdown(cancel_futures=True)
    if late:
        raise unreached(late, len(chosen))
    context.holds(f"{len(chosen)} worlds, 0 errors")


def _is_done(context: Context, compared: ComparedWorld, code: int | None, output: str) -> bool:
    """Write down how a world's run ended; whether it had time to.

    Raises:
        SkippedError: the tool does not work here.
    """
    errors = read_errors(output)
    context.row(world=compared.name, params=dict(compared.params), errors=errors, status=code)
    if errors is None and (refusal := _refusal(output)):
        raise SkippedError(f"{TOOL}: {refusal}")
    if errors or code not in (0, None):
        context.wrong(f"{name_of(compared)}: {_first_error(output)}")
    elif code is not None and errors is None:
        context.wrong(f"{name_of(compared)}: {TOOL} gave no summary: {output[-300:]}")
    return code is not None


def _run(context: Context, number: int) -> tuple[int | None, str]:
    if context.is_over():
        return None, ""
    command = [TOOL, "--tool", "memcheck", "--error-exitcode", str(FOUND), "--report-api-errors", "no"]
    command += [sys.executable, "-m", f"{__package__}.few_steps", str(number), context.device]
    log = context.path.with_name(f"memcheck-{number}.txt")
    return run_limited(command, context.left(), log, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "OMP_NUM_THREADS": "1"})


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
