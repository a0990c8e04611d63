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
        updates: of updates.
    """

    totals: list[float]
    updates: list[float]


class Watch:
    """Says when enough was measured: at least so many iterations, for at least so many seconds, warm-up aside.

    Args:
        seconds: see above.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._began, self._done = seconds, 0.0, 0

    def is_over(self) -> bool:
        """Asked before each iteration."""
        if self._done == WARM_UP:
            self._began = time.perf_counter()
        self._done += 1
        measured = self._done - 1 - WARM_UP
        return measured >= LEAST and time.perf_counter() - self._began >= self._seconds


def timed(iterate: Callable[[], None], seconds: float) -> list[float]:
    """Seconds of each call that counts."""
    watch, seen = Watch(seconds), []
    while not watch.is_over():
        start = time.perf_counter()
        iterate()
        seen.append(time.perf_counter() - start)
    return seen[WARM_UP:]
