"""All recorders of a run: called together, and their numbers read back together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from warpworld.managers import Copy, Step
from warpworld.trainers.collecting.recorder import Recorder

Kind = TypeVar("Kind", bound=Recorder)


class Recorders:
    """The recorders of a run, in the order in which they were added.

    Attributes:
        row: name of the array with the row of the present step.
        beside: waits for the update that runs beside the steps; None if none does.

    Args:
        first: the one that there always is, which counts rows.
        row: name of the array with the row of the present step.
    """

    def __init__(self, first: Recorder, row: str) -> None:
        self._all, self.row = [first], row
        self.beside: Callable[[], None] | None = None
        self._counts: list[int] = []  # numbers that each measures

    def __iter__(self) -> Iterator[Recorder]:
        return iter(self._all)

    def add(self, recorder: Kind) -> Kind:
        """Call a recorder in each iteration from now on, and return it."""
        self._all.append(recorder)
        return recorder

    # ---- an iteration ------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Prepare an iteration."""
        for recorder in self._all:
            recorder.begin()

    def join(self) -> None:
        """Wait for the update beside the steps: call it before ``end``, and not within a CUDA graph."""
        if self.beside is not None:
            self.beside()

    def end(self) -> None:
        """Complete an iteration."""
        for recorder in self._all:
            recorder.end()

    # ---- a step; a call that does nothing costs a small world time ---------------------------------------------------
    def copies(self) -> list[Copy]:
        """Copies of each step, made when every player has acted."""
        return [copy for recorder in self._all for copy in recorder.copies()]

    def acted(self) -> list[Callable[[], None]]:
        """Calls that record a step after the copies: those of recorders that define ``acted``."""
        return [recorder.acted for recorder in self._all if type(recorder).acted is not Recorder.acted]

    def steps_after(self) -> list[Step]:
        """Steps of a program that follow the world's step."""
        return [step for recorder in self._all for step in recorder.steps_after()]

    def stepped(self) -> list[Callable[[], None]]:
        """Calls that follow the world's step, besides ``steps_after``."""
        return [call for recorder in self._all for call in recorder.calls_after_step()]

    @property
    def call_python(self) -> bool:
        """Whether there is more to call from Python around a step than the counting of the first recorder."""
        counting = list(self._all[0].calls_after_step())
        return bool(self.acted()) or not counting or self.stepped() != counting

    # ---- numbers for the host ----------------------------------------------------------------------------------------
    def measured(self) -> Tensor:
        """The numbers of all recorders, (numbers,) int64 on the device."""
        measured = [recorder.measured() for recorder in self._all]
        self._counts = [len(part) for part in measured]
        return torch.stack([number.long() for part in measured for number in part])

    def take_in(self, numbers: Sequence[int]) -> list[tuple[Recorder, bool]]:
        """Pass each recorder its numbers; returns for each whether all that it keeps is finite."""
        left, found = iter(numbers), []
        for recorder, count in zip(self._all, self._counts, strict=True):
            own = list(itertools.islice(left, count))
            recorder.take_in(own)
            found.append((recorder, not own or bool(own[0])))
        return found
