"""The loggers that a run's settings name, kept apart: where one fails, the others and the run's files lose nothing."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from warpworld.config import RunConfig
from warpworld.config.loggers import loggers_of
from warpworld.errors import LoggerError, RunError, said
from warpworld.runs.loggers.logger import Logger, Metrics, plain

logger = logging.getLogger(__name__)


class LoggersOfRun:
    """The loggers of a session of a run; each is made before its first ``log`` or ``rewind``.

    Args:
        folder: the run folder.
        config: the run's settings.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self._folder, self._config = folder, config
        self._classes = loggers_of(config.saving)
        self._made: dict[str, Logger] = {}
        self._failed: set[str] = set()

    def check_available(self) -> None:
        """Let each logger check what it needs.

        Raises:
            RunError: it is not there.
        """
        for name, cls in self._classes.items():
            try:
                cls.check_available(self._config)
            except Exception as error:
                raise self._failure(name, "check_available", error) from error

    def log(self, metrics: Metrics) -> None:
        """Pass an iteration's metrics to each. Raises LoggerError: one failed; the others have them."""
        numbers = MappingProxyType(plain(metrics))
        self._each("log", self._classes, lambda each: each.log(numbers))

    @property
    def show_pictures(self) -> bool:
        """Whether one takes pictures."""
        return any(cls.show is not Logger.show for cls in self._classes.values())

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:
        """Pass a picture to each that takes one. Raises LoggerError: one failed; the others have it."""
        names = [name for name, cls in self._classes.items() if cls.show is not Logger.show]
        self._each("show", names, lambda each: each.show(picture, iteration, env_steps))

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Rewind each. Raises LoggerError: one failed; the others are rewound."""
        self._each("rewind", self._classes, lambda each: each.rewind(iteration, env_steps))

    def sync(self) -> None:
        """Bring to the disk what each has. Raises LoggerError: one failed; the others' lines are there."""
        self._each("sync", self._made, lambda each: each.sync())

    def close(self) -> None:
        """Close each; failures are warnings, since all that was logged was passed on before. Failed ones are left."""
        for name, made in self._made.items():
            try:
                made.close()
            except Exception as error:
                logger.warning("%s", self._failure(name, "close", error))
        self._made = {name: made for name, made in self._made.items() if name not in self._failed}
        self._failed.clear()

    def _each(self, method: str, names: Iterable[str], call: Callable[[Logger], None]) -> None:
        """Call a method of the loggers that have not failed, all of them before an error is raised."""
        failures: list[LoggerError] = []
        for name in [name for name in names if name not in self._failed]:
            try:
                if name not in self._made:
                    self._made[name] = self._classes[name](self._folder, self._config)
                call(self._made[name])
            except Exception as error:
                self._failed.add(name)
                failures.append(self._failure(name, method, error))
        for later in failures[1:]:
            logger.warning("%s", later)
        if failures:
            raise failures[0]

    def _failure(self, name: str, method: str, error: Exception) -> LoggerError:
        """The error in a sentence; that of a RunError is one already."""
        if isinstance(error, RunError):
            failure = LoggerError(str(error))
        else:
            failure = LoggerError(f"logger '{name}' failed in {method}: {said(error)}{self._advice(name)}")
        failure.__cause__ = error
        return failure

    def _advice(self, name: str) -> str:
        """The command that continues the run without a logger."""
        if not (self._folder / "config.yaml").is_file():
            return ""
        others: list[Any] = [other for other in self._config.saving.loggers if other != name]
        given = f"saving.loggers=[{','.join(others)}]" if name in self._config.saving.loggers else f"saving.{name}=null"
        return (
            f"; to continue without it: warpworld train --resume {shlex.quote(str(self._folder))} {shlex.quote(given)}"
        )
