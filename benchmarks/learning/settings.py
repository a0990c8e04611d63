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


@dataclass(frozen=True)
class Times:
    """Seconds of iterations.

    Attributes:
        totals: of each, rollout and update.
        cpus: the same in CPU time of all threads.
        updates: of updates.
    """

    totals: list[float]
    cpus: list[float]
    updates: list[float]


class Watch:
    """Says when enough was measured: at least so many iterations, for at least so many seconds, warm-up aside.

    Args:
        seconds: see above.
        least: iterations.
        warm_up: iterations.
    """

    def __init__(self, seconds: float, least: int = LEAST, warm_up: int = WARM_UP) -> None:
        self._seconds, self._least, self._warm_up = seconds, least, warm_up
        self._began, self._done = 0.0, 0

    def is_over(self) -> bool:
        """Asked before each iteration."""
        if self._done == self._warm_up:
            self._began = time.perf_counter()
        self._done += 1
        measured = self._done - 1 - self._warm_up
        return measured >= self._least and time.perf_counter() - self._began >= self._seconds


def timed(
    run: Callable[[], object], seconds: float, least: int = LEAST, warm_up: int = WARM_UP
) -> tuple[list[float], list[float]]:
    """Seconds of each call that counts, and its CPU seconds; arguments as those of ``Watch``."""
    watch, walls, cpus = Watch(seconds, least, warm_up), list[float](), list[float]()
    while not watch.is_over():
        start, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - start)
        cpus.append(time.process_time() - cpu)
    return walls[warm_up:], cpus[warm_up:]
