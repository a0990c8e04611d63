"""A second stream of the device, which runs one task at a time beside what the first is given."""

from __future__ import annotations

from collections.abc import Callable

Task = Callable[[], None]


class SecondStream:
    """Runs tasks on the device beside a rollout, from the thread that launches the rollout.

    A task follows what the device was asked for before ``start``. It is called in ``join``, when the rollout has been
    launched, so that a task that reads results to the host does not hold the rollout up. What is asked for after
    ``join`` follows the task. Python and the host's generators are used in a fixed order.

    Attributes:
        torch_threads: None: torch's threads are not shared.

    Args:
        branch: begins a branch of work, see ``World.branch``.
    """

    torch_threads: int | None = None

    def __init__(self, branch: Callable[[], Callable[[Task], None]]) -> None:
        self._branch = branch
        self._begun: tuple[Callable[[Task], None], Task] | None = None

    def open(self) -> None:
        """Take tasks from now on."""

    def start(self, task: Task) -> None:
        """Begin a task; the one before has been joined."""
        self._begun = self._branch(), task

    def join(self) -> None:
        """Run the task, if one was begun, and let what follows wait for it on the device.

        Raises:
            BaseException: what it raised.
        """
        begun, self._begun = self._begun, None
        if begun is not None:
            run, task = begun
            run(task)

    def close(self) -> None:
        """Drop a task that was not joined, since what ran beside it failed."""
        self._begun = None
