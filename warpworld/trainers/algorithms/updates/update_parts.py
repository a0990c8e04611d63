"""An on-policy update in parts, between which the host may read what the device has come to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

Part = Callable[[], None]


@dataclass(frozen=True)
class UpdateParts:
    """Parts of an update: a first pass over its rows, other passes while they are wanted, and an end.

    A part puts work on the device, the same in each update, and waits for nothing. What a part makes, those behind it
    read.

    Attributes:
        first: settles what is learnt from, and makes the first pass.
        another: makes one more pass.
        last: does what an update does once, behind its passes.
        passes: how many there are at most.
        is_enough: reads from the device, between two passes, whether the second is left out; None if nothing is read.
    """

    first: Part
    another: Part
    last: Part
    passes: int
    is_enough: Callable[[], bool] | None = None

    def run(self) -> None:
        """Do the update."""
        self.make_passes()
        self.last()

    def make_passes(self) -> None:
        """Make the first pass, and others while they are wanted."""
        self.first()
        for _ in range(1, self.passes):
            if self.is_enough is not None and self.is_enough():
                break
            self.another()

    def captured(self, capture: Callable[[Part], Part]) -> Part:
        """The update as CUDA graphs: a single one where nothing is read in between, else one of each part.

        Args:
            capture: gives the graph of a part, or the part itself where none can hold it. Then none is used: a graph
                reads what the parts before it made at the addresses where they made it first.
        """
        if self.is_enough is None:
            return capture(self.run)
        graphs: dict[str, Part] = {}
        for name in ("first", "another", "last"):
            part = getattr(self, name)
            graphs[name] = capture(part)
            if graphs[name] is part:
                return self.run
        return dataclasses.replace(self, **graphs).run  # type: ignore[arg-type]
