"""Compiles what the other parts need, on all cores at once: a compiler keeps one core busy for seconds."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from .few_steps import plans
from .part import NO_FMAD, CheckError, Context, UnfinishedError
from .process import run_limited


def build(context: Context) -> None:
    """Runs a few steps of every world, on cpu and on the device, each in a process of its own."""
    numbers = range(context.size(len(plans()), 2))
    jobs: list[tuple[int, str, dict[str, str]]] = [
        (number, device, {}) for number in numbers for device in sorted({"cpu", context.device})
    ]
    if context.device == "cuda":
        jobs += [(number, "cuda", NO_FMAD) for number in numbers]

    late: list[str] = []

    def run(job: tuple[int, str, dict[str, str]]) -> str:
        number, device, environment = job
        command = [sys.executable, "-m", f"{__package__}.few_steps", str(number), device]
        name = f"build-{number}-{device}-{len(environment)}.txt"
        code, output = run_limited(command, context.left(), context.path.with_name(name), environment)
        if code is None:
            late.append(f"{plans()[number].name} on {device}")
            return ""
        return "" if code == 0 else f"{plans()[number].name} on {device}: {output[-600:]}"

    began = time.perf_counter()
    with ThreadPoolExecutor(max(1, min(12, os.cpu_count() or 1))) as pool:
        failed = [said for said in pool.map(run, jobs) if said]
    context.report(jobs=len(jobs), headline=f"{len(jobs)} runs in {time.perf_counter() - began:.0f} s")
    if failed:
        raise CheckError("\n".join(failed))
    if late:
        raise UnfinishedError(f"{len(late)} of {len(jobs)} were not done in time: {', '.join(sorted(set(late)))}")
