"""Waits for runs that train to log more."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from warpworld.runs.folder import RunFolder
from warpworld.runs.summary import is_training

SECONDS = 5.0  # between two looks


def growths(runs: Sequence[RunFolder]) -> Iterator[None]:
    """Yield at once, and again whenever metrics have grown, as long as a run trains."""
    before: list[int] | None = None
    while any(is_training(run) for run in runs):
        sizes = [_size(run) for run in runs]
        if sizes != before:
            before = sizes
            yield
        time.sleep(SECONDS)


def _size(run: RunFolder) -> int:
    """Size of a run's metrics in bytes; 0 where there are none."""
    try:
        return run.metrics_path.stat().st_size
    except OSError:
        return 0
