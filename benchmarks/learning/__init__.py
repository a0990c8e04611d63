"""Training end to end: rollout, returns and update, by warpworld and by others, on one core and on two.

Every system is measured in a process of its own, on cores of its own: memory and products are tuned for a whole
process, and threads are started once.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from warpworld.errors import DeclarationError, suggest
from warpworld.managers.cpu.workers import available_cores

from ..rows import LearningRow, StartRow
from . import starts
from .ours import Operations, Task, counted
from .settings import Setting
from .works import WORKS, System, Work

NAME = "learning"
FORMERLY = "ppo"  # which still names the table
START = "start"  # a work that is no iteration: from the command to the first update
NAMES = (*WORKS, START)
QUICK = "plain"  # what is measured unless the table is named


def chosen(only: str | None) -> list[str]:
    """The works that a word selects: those whose name contains what stands behind "learning:", if it stands there.

    Raises:
        DeclarationError: there is no such work.
    """
    if only is None:
        return [QUICK]
    table, _, word = only.partition(":")
    if table not in (NAME, FORMERLY):
        return []
    found = [name for name in NAMES if word in name]
    if not found:
        raise DeclarationError(
            f"'{only}': no work's name contains '{word}'.{suggest(word, NAMES)} Known: {', '.join(NAMES)}"
        )
    return found


def libraries() -> list[str]:
    """Peers that are installed and can be measured."""
    systems = [system for work in WORKS.values() for system in work.systems.values() if system.library is not None]
    return sorted({str(system.library) for system in systems if system.can_run})


def rows(seconds: float, only: str | None = NAME) -> Iterator[LearningRow | StartRow]:
    """Measure works; ``seconds`` is a fifth of what is measured of each system, at least."""
    for cores in sorted({1, min(2, available_cores())}):
        for name in chosen(only):
            with _on(cores):
                yield from starts.rows(cores) if name == START else _rows(name, cores, 5 * seconds)


def _rows(name: str, cores: int, seconds: float) -> Iterator[LearningRow]:
    work = WORKS[name]
    for number, setting in enumerate(work.settings):
        for label, system in work.systems.items():
            if system.can_run:
                found = _measured(name, label, system.is_usual, number, cores, seconds)
                yield _row(work, label, system, setting, cores, found)


def _row(work: Work, label: str, system: System, setting: Setting, cores: int, found: dict[str, Any]) -> LearningRow:
    totals, operations = found["totals"], _operations(system.task, setting)
    middle, quarters = statistics.median(totals), statistics.quantiles(totals, n=4)
    return LearningRow(
        world=work.title,
        system=label,
        cores=cores,
        num_envs=setting.num_envs,
        num_steps=setting.num_steps,
        update_epochs=setting.update_epochs,
        num_minibatches=setting.num_minibatches,
        seconds_per_iteration=middle,
        cpu_seconds_per_iteration=statistics.median(found["cpus"]),
        seconds_per_update=statistics.median(found["updates"]),
        spread=(quarters[2] - quarters[0]) / middle,
        update_operations=operations.gradients + (operations.values if system.counts_values else 0.0),
        product=found["product"],
    )


@functools.cache
def _operations(task: Task, setting: Setting) -> Operations:
    return counted(task, setting)


def _measured(work: str, system: str, is_usual: bool, setting: int, cores: int, seconds: float) -> dict[str, Any]:
    """What a process prints that does nothing else."""
    command = [sys.executable, "-m", f"{__spec__.name}.measured", work, system, str(setting), str(seconds)]
    environment = dict(os.environ) | {"OMP_NUM_THREADS": str(cores)}
    if is_usual:  # the command line's own, which is not how torch is usually run
        environment.pop("OMP_WAIT_POLICY", None)
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


@contextlib.contextmanager
def _on(count: int) -> Iterator[None]:
    """Hold this thread, and with it the processes that it starts, to so many cores, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(cores)[:count]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
