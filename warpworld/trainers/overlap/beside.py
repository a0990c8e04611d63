"""Choice of what runs an update beside a rollout, by device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from warpworld.trainers.overlap.background import Background
from warpworld.trainers.overlap.second_stream import SecondStream
from warpworld.world import World


class Beside(Protocol):
    """Runs one task at a time beside what its caller does.

    Attributes:
        torch_threads: that caller and task share; None while they share none.
    """

    torch_threads: int | None

    def open(self) -> None:
        """Take tasks from now on."""

    def start(self, task: Callable[[], None]) -> None:
        """Begin a task; the one before has been joined."""

    def join(self) -> None:
        """Let what follows come after the task, if one was begun. Raises what the task raised."""

    def close(self) -> BaseException | None:
        """End a task that was not joined; gives the error that it raised of itself."""


def choose_beside(world: World) -> Beside:
    """Choose a thread where a device's work is the host's; else the device's second stream."""
    return Background() if world.runs_on_host else SecondStream(world.branch)
