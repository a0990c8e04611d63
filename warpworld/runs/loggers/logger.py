"""Base of loggers, and what they share."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.files import reason

Metrics = Mapping[str, Any]


class Logger(ABC):
    """Base of what takes a run's metrics. ``saving.loggers`` names a packaged one, or ``module:Class`` of the user's.

    A logger is made before its first ``log`` or ``rewind``, once in a session. Of several processes, the first alone
    has loggers. All methods are called in its main thread, between two iterations, and training waits for them.

    A method may raise any exception. The line is in ``metrics.jsonl`` by then, every other logger gets it, too, and
    the run ends with a checkpoint, an error of one line and exit status 2. Of a logger that failed, ``close`` alone is
    called again; a resumed run makes a new one, which continues behind that checkpoint.

    Attributes:
        folder: the run folder, where a logger may write files of names that no file of the run has.
        config: the run's settings.

    Args:
        folder: see above.
        config: see above.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder, self.config = folder, config

    @classmethod
    def check_available(cls, config: RunConfig) -> None:
        """Check what logging needs, such as a package; called before a run is made or rewound.

        Raises:
            RunError: it is not there; the run does not begin, and nothing is written.
        """
        return

    @abstractmethod
    def log(self, metrics: Metrics) -> None:
        """Take the metrics of an iteration; called every ``saving.log_every`` iterations, and at the last.

        Args:
            metrics: by name, as docs/metrics.md defines them with their units; each an int, a finite float, or None
                where there is no value. ``iteration`` and ``env_steps`` are always there. It cannot be changed.
        """

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:  # noqa: B027
        """Take a picture of the policies at play; called every ``saving.record_every`` iterations, after ``log``.

        A class that leaves this method as it is gets none, and where no logger of a run takes pictures none are drawn.

        Args:
            picture: a GIF in the run folder.
            iteration: iterations done.
            env_steps: env steps done.
        """

    def rewind(self, iteration: int, env_steps: int) -> None:  # noqa: B027
        """Forget later lines than those of ``iteration``; called when a run is resumed, before its first ``log``.

        An earlier session may have logged beyond the checkpoint that the run continues from. The same lines, bit for
        bit on a CPU, come again.

        Args:
            iteration: of that checkpoint.
            env_steps: done by then; 0 of iteration 0.
        """

    def sync(self) -> None:  # noqa: B027
        """Bring what was logged to the disk; called before each checkpoint is written."""

    def close(self) -> None:  # noqa: B027
        """Close what is open; called at the end of a session. A later ``log`` opens it again."""


def imported(package: str, *modules: str) -> Any:
    """The package that ``saving.<package>`` needs, with some of its modules.

    Raises:
        RunError: it is not installed.
    """
    try:
        for module in modules:
            importlib.import_module(f"{package}.{module}")
        return importlib.import_module(package)
    except ImportError as error:
        raise RunError(
            f"saving.{package} needs the package {package}, which is not installed: "
            f"pip install 'warpworld[{package}]', or set saving.{package}=null"
        ) from error


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
    if type(value) is int or (type(value) is float and math.isfinite(value)):  # as most are
        return value
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
