"""A recorder that waits for the update beside a rollout."""

from __future__ import annotations

from collections.abc import Callable

from warpworld.trainers.collecting import Recorder


class UpdateBeside(Recorder):
    """Waits for the update beside a rollout before other recorders complete it: they change what is drawn from.

    Add it before them.

    Args:
        join: waits.
    """

    def __init__(self, join: Callable[[], None]) -> None:
        self._join = join

    def end(self) -> None:
        """Wait."""
        self._join()
