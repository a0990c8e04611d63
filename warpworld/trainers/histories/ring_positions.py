"""Positions of rings at a checkpoint, from which the rows that are new since then follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from warpworld.trainers.collecting import Rows
from warpworld.trainers.histories.parts import Part


class RingPositions:
    """Positions of rings at a checkpoint.

    Attributes:
        iteration: of the checkpoint.

    Args:
        iteration: see above.
        written: rows that were ever written, by the ring's name.
        filled: slots that were ever filled in each env, by the ring's name.
    """

    def __init__(self, iteration: int, written: Mapping[str, int], filled: Mapping[str, Tensor]) -> None:
        self.iteration, self._written, self._filled = iteration, written, filled

    @classmethod
    def of(cls, iteration: int, rings: Iterable[Rows]) -> RingPositions:
        """Record the present positions."""
        rings = list(rings)
        filled = {ring.name: ring.filled.long().clone() for ring in rings if ring.filled is not None}
        return cls(iteration, {ring.name: ring.written for ring in rings}, filled)

    def first(self, ring: Rows) -> int:
        """The first row that is not saved as it is now."""
        return max(0, self._written.get(ring.name, 0) - ring.unsettled, ring.written - ring.capacity)

    def filled_of(self, ring: Rows) -> Tensor | None:
        """Slots of a ring that were filled then."""
        return None if ring.filled is None else self._filled.get(ring.name, torch.zeros_like(ring.filled).long())


def is_needed(part: Part, rings: Iterable[Rows]) -> bool:
    """Whether a ring still has a row of a file."""
    ends = {name: end for name, (_, end) in part.ends.items()}
    return any(ends.get(ring.name, 0) > ring.written - ring.capacity for ring in rings)
