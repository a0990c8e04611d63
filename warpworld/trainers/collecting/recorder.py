"""Base class of recorders, which keep something of each step: the contract with a collector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from warpworld.managers import Copy, Step
from warpworld.trainers.spans import CHECKS, span


class Recorder:
    """Records part of each step, in arrays that it adds to the store before the world is sealed.

    ``World.record`` records during the world's own step, for example rewards and ends. The methods below are for the
    rest; each is optional. All up to ``measured`` may be part of a CUDA graph: they must do the same work in each call,
    wait for nothing and keep no state in Python.
    """

    def begin(self) -> None:
        """Prepare an iteration, before its first step."""

    def copies(self) -> Sequence[Copy]:
        """Copies of each step, made when every player has acted and the world has not stepped yet."""
        return ()

    def acted(self) -> None:
        """Keep what is to be kept of a step, after the copies."""

    def steps_after(self) -> Sequence[Step]:
        """Steps of a program that move on behind a step of the world, in which ended envs have been reset."""
        return ()

    def stepped(self) -> None:
        """Move on behind a step of the world, where a program cannot."""

    def calls_after_step(self) -> Sequence[Callable[[], None]]:
        """Calls that follow each step of the world: ``stepped``, where a class defines it."""
        return [self.stepped] if type(self).stepped is not Recorder.stepped else []

    def end(self) -> None:
        """Complete an iteration, after its last step."""

    # ---- what the host must know of an iteration, read back for all recorders at once -----------------------------
    def measured(self) -> Sequence[Tensor]:
        """Numbers for the host, () each, on the world's device; the first is whether all that was kept is finite."""
        return ()

    def take_in(self, numbers: Sequence[int]) -> None:
        """Receive the results of ``measured`` as Python numbers."""

    def refuse_not_finite(self) -> None:
        """Look for a number that is not finite, if ``measured`` found that there is one.

        Raises:
            TrainingError: names what is not finite, and where.
        """


class AtTheEnd(Recorder):
    """Calls a function when a rollout is complete; it records nothing.

    Args:
        call: puts work on the device, as a recorder's methods do.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def end(self) -> None:
        """Call it."""
        with span(CHECKS):
            self._call()
