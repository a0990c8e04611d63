"""How much is collected and gone over, and how long that is measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

WARM_UP = 2  # iterations that do not count
LEAST = 5  # that count


@dataclass(frozen=True)
class Setting:
    """Sizes of an iteration.

    Attributes:
        num_envs: envs that step together.
        num_steps: steps of each between two updates.
        update_epochs: passes over them.
        num_minibatches: gradient steps of a pass.
    """

    num_envs: int
    num_steps: int
    update_epochs: int
    num_minibatches: int


def timed(
    run: Callable[[], object], seconds: float, least: int = LEAST, warm_up: int = WARM_UP
) -> tuple[list[float], list[float]]:
    """Seconds of each call that counts, and its CPU seconds; arguments as those of ``timed_iterations``."""
    walls, cpus = list[float](), list[float]()
    while len(walls) < warm_up + least or sum(walls[warm_up:]) < seconds:
        start, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - start)
        cpus.append(time.process_time() - cpu)
    return walls[warm_up:], cpus[warm_up:]
