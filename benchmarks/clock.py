"""The clock that every row shares: warm-up, then the median of several windows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CALLS_PER_REDRAW = 8  # calls between two fresh sets of actions, which are put in place outside the clock


@dataclass(frozen=True)
class Timing:
    """Seconds of one call.

    Attributes:
        median: over the windows.
        best: of the windows.
        spread: (slowest - fastest) / median: how noisy the machine was.
    """

    median: float
    best: float
    spread: float

    @staticmethod
    def of(windows: Sequence[float]) -> Timing:
        """Summarise windows, each in seconds of a call."""
        median = statistics.median(windows)
        return Timing(median, min(windows), (max(windows) - min(windows)) / median)


def measure(
    call: Callable[[], object],
    redraw: Callable[[int], object] | None = None,
    seconds: float = 0.2,
    windows: int = 5,
    calls: int = CALLS_PER_REDRAW,
) -> Timing:
    """Time ``call``.

    Args:
        call: what is measured.
        redraw: called outside the clock with a running number, every ``calls`` calls.
        seconds: of one window, at least.
        windows: how many count.
        calls: between two looks at the clock.
    """
    per_window = []
    number = 0
    for window in range(-1, windows):  # the first one warms up
        elapsed, done = 0.0, 0
        while elapsed < (seconds if window >= 0 else seconds / 2):
            if redraw is not None:
                redraw(number)
            number += 1
            start = time.perf_counter()
            for _ in range(calls):
                call()
            elapsed += time.perf_counter() - start
            done += calls
        if window >= 0:
            per_window.append(elapsed / done)
    return Timing.of(per_window)
