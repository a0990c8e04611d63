"""Diagnostics of updates by a kernel, of several policies in one launch, see summaries.cu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from warpworld.managers import Needs
from warpworld.trainers.algorithms.updates.passes import Passes
from warpworld.trainers.collecting import TensorKernels
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "summaries.cu"
LANES = 256
MOST_POLICIES = 4  # of a launch, as the kernel has them
ROWS_OF_PART, MOST_PARTS = 2048, 256  # rows of a part at least, until there are so many parts
SPREADS = 6  # doubles that a part of the rows gives


@dataclass(frozen=True)
class Summary:
    """Diagnostics of a policy's update that are to be found.

    Attributes:
        numbers: fields of the kernel's struct Ended.
        items: of work.
        moved: bytes read, and written.
        held: what must not be freed before the launch.
    """

    numbers: tuple[int, ...]
    items: int
    moved: tuple[float, float]
    held: object


class Summaries(TensorKernels):
    """The kernel, for all policies of a world.

    Args:
        world: that is not sealed.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world, SOURCE, {"LANES": LANES}, ["summarise"], LANES)

    def __call__(self, summaries: Iterable[Summary | None]) -> None:
        """Find the diagnostics of some policies, in as few launches as they fit; None is none."""
        due = [each for each in summaries if each is not None]
        for first in range(0, len(due), MOST_POLICIES):
            self._launch_some(due[first : first + MOST_POLICIES])

    def _launch_some(self, due: Sequence[Summary]) -> None:
        numbers = [number for each in due for number in each.numbers]
        numbers += [0] * (MOST_POLICIES - len(due)) * len(due[0].numbers)
        read, written = (sum(parts) for parts in zip(*(each.moved for each in due), strict=True))
        self.launch("summarise", (), numbers, sum(each.items for each in due), Needs(0.0, read, written))


class Summariser:
    """Finder of the diagnostics of a policy's updates.

    Args:
        summaries: the world's.
        passes: of the policy's updates, whose tensors follow.
        diagnostics: (names + 1,) float32, which take the means of all passes and the explained part of the variance.
    """

    def __init__(self, summaries: Summaries, passes: Passes, diagnostics: Tensor) -> None:
        self._summaries, self._passes, self._diagnostics = summaries, passes, diagnostics
        self._counter = torch.zeros(1, dtype=torch.int32, device=diagnostics.device)
        self._columns = torch.tensor(passes.columns, dtype=torch.int32, device=diagnostics.device)
        self._noted: Tensor | None = None
        self._count = 0

    @property
    def is_able(self) -> bool:
        """Whether the kernel can run: not while the world has no memory."""
        return self._summaries.is_here(self._diagnostics) and self._diagnostics.dtype == torch.float32

    def note(self, found: Tensor, count: int, are_all: bool) -> None:
        """Take the diagnostics of passes in.

        Args:
            found: (minibatches, numbers) float32, as of ``Steps``, or in the order of names.
            count: passes that they are of.
            are_all: whether the update makes no others; then they wait for ``of_rows``.
        """
        self._noted, self._count = found.float().contiguous(), count
        if not are_all:
            self._summaries([self._summary(None, None, None)])

    def of_rows(self, returns: Tensor, values: Tensor, mask: Tensor | None) -> Summary:
        """Summary at the end of an update.

        Args:
            returns: (rows,).
            values: (rows,), in the same units.
            mask: (rows,) bool, rows that count; None for all.
        """
        columns = returns.float().contiguous(), values.float().contiguous()
        return self._summary(*columns, None if mask is None else mask.contiguous())

    def _summary(self, returns: Tensor | None, values: Tensor | None, mask: Tensor | None) -> Summary:
        """Summary of passes that are noted, and of rows where an update ends."""
        found, names, (done, means) = self._noted, len(self._passes.names), self._passes.tensors()
        rows = 0 if returns is None else len(returns)
        parts = min(-(-rows // ROWS_OF_PART), MOST_PARTS)
        spreads = None if returns is None else returns.new_empty(parts * SPREADS, dtype=torch.float64)
        diagnostics = None if returns is None else self._diagnostics
        is_wide = found is not None and found.shape[1] > names
        tensors = (found, self._columns if is_wide else None, done, means, returns, values, mask, spreads)
        addresses = [0 if each is None else each.data_ptr() for each in (*tensors, self._counter, diagnostics)]
        minibatches, pitch = (0, 0) if found is None else found.shape
        sizes = minibatches, minibatches // self._count if self._count else 0, pitch, names, rows, parts
        moved = (found, returns, values, mask, spreads), (means, spreads, diagnostics)
        read, written = (float(sum(each.nbytes for each in some if each is not None)) for some in moved)
        self._noted, self._count = None, 0
        return Summary((*addresses, *sizes), parts + (found is not None), (read, written), tensors)
