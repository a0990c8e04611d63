"""Which rows a minibatch has: a share of a random order, drawn over the rows of all processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.trainers.batch import NORM_EPS, Batch
from warpworld.trainers.distributed import ProcessGroup


@dataclass(frozen=True)
class Epoch:
    """One pass over this process's rows.

    Attributes:
        order: (own rows,) int64, on the rows' device.
        lengths: how many of them each minibatch has; 0 where all rows of a minibatch are other processes'.
        shares: which part of each minibatch these are, in [0, 1]; 1 where there is one process.
    """

    order: Tensor
    lengths: list[int]
    shares: list[float]


class Minibatches:
    """Deals a rollout's rows into minibatches, anew in each epoch.

    All processes draw the same order of all rows that count, numbered as one process would number them, and each takes
    its own out of every part. So the minibatches of the processes unite to those of a single one.

    Attributes:
        rows: this process's rows that count.
        total: how many rows count in all processes.

    Args:
        batch: this process's rows; where there are several processes, with their blocks.
        wanted: how many minibatches; less where there are fewer rows.
        processes: those that learn together.
    """

    def __init__(self, batch: Batch, wanted: int, processes: ProcessGroup) -> None:
        self.rows = batch.counted()
        self.total = len(self.rows)
        self._processes, self._device = processes, self.rows.observations.device
        self._numbers: Tensor | None = None
        if processes.several:
            self._numbers, self.total = _numbered(batch.counted_blocks(), processes)
        self._parts = max(1, min(wanted, self.total))

    @property
    def lengths(self) -> list[int]:
        """Rows of each minibatch, of all processes together; they differ by one at most, and none is 0."""
        more = self.total % self._parts
        return [self.total // self._parts + (part < more) for part in range(self._parts)]

    def deal(self, generator: torch.Generator) -> Epoch:
        """The next epoch; draws one permutation of ``total`` numbers, or where the rows are on a GPU, its seed."""
        order = self._order(generator)
        if self._numbers is None:
            return Epoch(order, self.lengths, [1.0] * self._parts)
        own = torch.full((self.total,), -1)  # on the host, where the lengths are wanted
        own[self._numbers] = torch.arange(len(self.rows))
        parts = [part[part >= 0] for part in own[order.cpu()].split(self.lengths)]
        lengths = [len(part) for part in parts]
        shares = [length / whole for length, whole in zip(lengths, self.lengths, strict=True)]
        return Epoch(torch.cat(parts).to(self._device), lengths, shares)

    def _order(self, generator: torch.Generator) -> Tensor:
        """A permutation on the rows' device: shuffling on the host would keep a GPU waiting."""
        if generator.device.type == self._device.type:
            return torch.randperm(self.total, generator=generator, device=self._device)
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        generator = torch.Generator(self._device).manual_seed(seed)
        order = torch.randperm(self.total, generator=generator, device=self._device)
        return self._processes.first_says(order)  # another model of GPU may draw another from the same seed

    def normalised(self, advantages: Tensor, epoch: Epoch) -> Tensor:
        """Advantages with mean 0 and (unbiased) standard deviation 1 in each minibatch of all processes.

        Args:
            advantages: (own rows,) float32.
            epoch: what ``deal`` gave.

        Returns:
            (own rows,) float32, in the order of ``advantages``.
        """
        wholes = torch.tensor(self.lengths, dtype=advantages.dtype, device=advantages.device)
        dealt = advantages[epoch.order].split(epoch.lengths)
        means = self._processes.sum(torch.stack([part.sum() for part in dealt])) / wholes
        centred = [part - mean for part, mean in zip(dealt, means, strict=True)]
        squares = self._processes.sum(torch.stack([(part**2).sum() for part in centred]))
        deviations = (squares / (wholes - 1).clamp(min=1)).sqrt() + NORM_EPS
        scaled = [part / deviation for part, deviation in zip(centred, deviations, strict=True)]
        return torch.empty_like(advantages).index_copy_(0, epoch.order, torch.cat(scaled))


def _numbered(blocks: Sequence[int], processes: ProcessGroup) -> tuple[Tensor, int]:
    """Number of each of this process's rows among those of all, and how many all are.

    A single process has its rows group by group, step by step, env by env; so in each block of one group and step come
    those of process 0 first, then those of process 1, and so on.

    Returns:
        (own rows,) int64 on the host, ascending; and the total.
    """
    lengths = processes.stack(torch.tensor(blocks, dtype=torch.int64)).t()  # (blocks, processes)
    ends = lengths.flatten().cumsum(0).view_as(lengths)
    own = lengths[:, processes.rank]
    first = ends[:, processes.rank] - own
    first_own = own.cumsum(0) - own
    numbers = torch.arange(int(own.sum())) + (first - first_own).repeat_interleave(own)
    return numbers, int(ends[-1, -1])
