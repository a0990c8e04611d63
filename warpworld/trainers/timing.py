"""Iterations of a training, timed.

Nothing of warpworld is imported here: `warpworld bench` runs this file against the warpworld of other commits.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpworld.trainers.trainer import Trainer


@dataclass(frozen=True)
class Times:
    """Seconds of iterations, each with a wait for the device at its ends.

    Attributes:
        totals: of each, rollout and update.
        cpus: CPU seconds of all threads, each with what is done between two iterations.
        updates: of their updates.
    """

    totals: list[float]
    cpus: list[float]
    updates: list[float]

    @property
    def rollouts(self) -> list[float]:
        """Seconds of each iteration's rollout."""
        return [total - update for total, update in zip(self.totals, self.updates, strict=True)]


def timed_iterations(trainer: Trainer, seconds: float, least: int = 1, warm_up: int = 0) -> Times:
    """Train for a moment; nothing is written.

    Args:
        trainer: of an endless config, which logs each iteration.
        seconds: that the iterations which count take together, at least.
        least: how many count, at least.
        warm_up: iterations before, which build networks, and touch memory for the first time.
    """
    totals, updates, clock = list[float](), list[float](), [time.process_time()]

    def note(metrics: dict[str, Any]) -> None:
        totals.append(metrics["perf/rollout_s"] + metrics["perf/update_s"])
        updates.append(metrics["perf/update_s"])
        clock.append(time.process_time())

    def is_over() -> bool:
        return len(totals) >= warm_up + least and sum(totals[warm_up:]) >= seconds

    trainer.train(None, note, is_over)
    cpus = [after - before for before, after in pairwise(clock)]
    return Times(totals[warm_up:], cpus[warm_up:], updates[warm_up:])
