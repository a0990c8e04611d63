"""What every logger is, and what loggers share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from warpworld.errors import RunError
from warpworld.files import reason

Metrics = Mapping[str, Any]


class Logger(Protocol):
    """What takes a run's metrics; it opens nothing before the first ``log``."""

    def log(self, metrics: Metrics) -> None:
        """Take the metrics of one iteration, at once. Raises RunError: they cannot be written."""

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Forget what came after an iteration, before a resumed run continues from it."""

    def sync(self) -> None:
        """Bring what was logged to the disk."""

    def close(self) -> None:
        """Close what is open; a later ``log`` opens it again."""


def is_timed(name: str) -> bool:
    """Whether a metric depends on the machine's speed, not on the seed alone."""
    return name == "time" or name.startswith("perf/")


def close(file: BinaryIO | None) -> None:
    """Close a file; what could not be written was reported when it was tried, and is not tried again."""
    if file is not None:
        with suppress(OSError):
            file.close()


def cannot_write(path: Path, error: OSError) -> RunError:
    """The error of a file that cannot be written."""
    return RunError(f"'{path}' cannot be written: {reason(error)}")


def plain(value: Any) -> Any:
    """``value`` as JSON can say it: tensors and NumPy scalars as numbers, nan and infinities as None."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def numbers(metrics: Metrics) -> Iterator[tuple[str, float]]:
    """The finite numbers among the metrics, but for ``env_steps``, which is the axis."""
    for name, value in metrics.items():
        number = plain(value)
        if isinstance(number, (int, float)) and name != "env_steps":
            yield name, float(number)
