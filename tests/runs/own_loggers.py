"""Loggers as a user writes them, for tests: each keeps its calls in ``CALLS``, which tests empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpworld.config import RunConfig
from warpworld.runs.loggers import Logger

CALLS: list[tuple[Any, ...]] = []


class Keeps(Logger):
    """Keeps every call."""

    def log(self, metrics: Mapping[str, Any]) -> None:
        CALLS.append(("log", self.folder.name, dict(metrics)))

    def rewind(self, iteration: int, env_steps: int) -> None:
        CALLS.append(("rewind", iteration, env_steps))

    def sync(self) -> None:
        CALLS.append(("sync",))

    def close(self) -> None:
        CALLS.append(("close",))


class Other(Keeps):
    """Another of the kind."""


class Least(Logger):
    """No more than a logger must have."""

    def log(self, metrics: Mapping[str, Any]) -> None:
        pass


class FailsToLog(Keeps):
    """Fails at the second line."""

    def log(self, metrics: Mapping[str, Any]) -> None:
        if metrics["iteration"] == 2:
            raise KeyError("loss")
        super().log(metrics)


class FailsToSync(Keeps):
    def sync(self) -> None:
        raise ValueError("no space")


class FailsToRewind(Keeps):
    def rewind(self, iteration: int, env_steps: int) -> None:
        raise ValueError("lines are gone")


class FailsToClose(Keeps):
    def close(self) -> None:
        raise ValueError("closed before")


class FailsToBegin(Keeps):
    def __init__(self, folder: Any, config: RunConfig) -> None:
        raise OSError("no line")


class Unavailable(Keeps):
    @classmethod
    def check_available(cls, config: RunConfig) -> None:
        raise ImportError(f"no package for {config.name}")


class Changes(Logger):
    """Takes a metric away from the others."""

    def log(self, metrics: Mapping[str, Any]) -> None:
        del metrics["iteration"]  # type: ignore[attr-defined]


# ---- no loggers ------------------------------------------------------------------------------------------------------
class NoLog(Logger):
    def sync(self) -> None:
        pass


class NoBase:
    def log(self, metrics: Mapping[str, Any]) -> None:
        pass


class OtherArguments(Least):
    def __init__(self, folder: Any, config: Any, port: int) -> None:
        super().__init__(folder, config)


class LogsWithout(Logger):
    def log(self) -> None:  # type: ignore[override]
        pass


class RewindsByOne(Least):
    def rewind(self, iteration: int) -> None:  # type: ignore[override]
        pass


class ClosedByName(Least):
    close = "later"  # type: ignore[assignment]


number = 3
