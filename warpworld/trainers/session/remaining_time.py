"""Estimate of the time that a run still takes, from its latest iterations."""

from __future__ import annotations

MOST = 256  # marks that are kept


class RemainingTime:
    """Estimates the time that is left from the newer half of the session.

    The first iteration warms up caches and compiles, and an off-policy run is quicker until it begins to learn: the
    newer half of what was done since the first iteration soon leaves both behind, and is long enough to be steady.

    Args:
        now: seconds, at the start of the session.
        done: env steps done by then.
    """

    def __init__(self, now: float, done: int) -> None:
        self._started = now, done
        self._marks: list[tuple[float, int]] = []

    def update(self, now: float, done: int) -> None:
        """Add the end of an iteration."""
        self._marks.append((now, done))
        if len(self._marks) > MOST:
            self._marks = [*self._marks[:-1:2], self._marks[-1]]

    def left(self, now: float, total: int) -> float | None:
        """Seconds until ``total`` env steps are done; None before the first iteration's end."""
        if not self._marks:
            return None
        first, newest = self._marks[0], self._marks[-1]
        middle = (first[0] + newest[0]) / 2
        since = max((mark for mark in self._marks[:-1] if mark[0] <= middle), default=self._started)
        per_step = (newest[0] - since[0]) / max(newest[1] - since[1], 1)
        return max((total - newest[1]) * per_step - (now - newest[0]), 0.0)
