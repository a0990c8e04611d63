"""Minibatches of a rollout's rows: parts of a random permutation, drawn over the rows of all processes.

Where the policy is recurrent, read "sequences" for "rows": whole sequences are shuffled then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.errors import StoreError
from warpworld.policies.fused import Shuffler
from warpworld.trainers.algorithms.experience import NORM_EPS, Batch, Experience
from warpworld.trainers.processes import ProcessGroup
from warpworld.trainers.spans import ORDER, spanned

Permutation = torch.Generator | Callable[[int], Tensor]
"""A generator to draw permutations from; or a function from how many passes of an epoch come before one to the numbers
of that one, (rows,) int64, or of all its passes."""


def given_numbers(given: Callable[[int], Tensor], passes: int, size: int) -> Tensor:
    """Numbers of all passes of an epoch.

    Args:
        given: gives those of a pass, or of all.
        passes: how many there are.
        size: numbers of a pass.
    """
    first = given(0)
    if passes == 1 or first.numel() != size:
        return first
    return torch.cat([first, *map(given, range(1, passes))])


@dataclass(frozen=True)
class Epoch:
    """A pass over this process's rows, or several, one behind the other.

    Attributes:
        order: (passes * own rows,) int64, pass by pass, on the rows' device; None for passes of a single
            minibatch of all rows as they lie.
        lengths: how many of them each minibatch has; 0 where all rows of a minibatch are other processes'.
        shares: which part of each minibatch's rows that count these are, in [0, 1]; 1 where there is one process.
        passes: how many there are, of as many minibatches each.
    """

    order: Tensor | None
    lengths: list[int]
    shares: list[float]
    passes: int = 1

    @property
    def shuffled(self) -> Tensor:
        """``order``, of an epoch that has one."""
        if self.order is None:
            raise StoreError("the rows of this epoch are not shuffled; it is a single minibatch")
        return self.order


class Minibatches:
    """Shuffles a rollout's rows into minibatches, anew in each epoch, in the process that has all of them.

    Rows that do not count are left out.

    Attributes:
        rows: this process's rows that are shuffled.
        total: their number in all processes.
        num_rows: how many single rows these are in all processes.

    Args:
        batch: this process's rows.
        wanted: how many minibatches; less where there are fewer rows.
        processes: those that learn together.
        shuffler: shuffles rows on the cpu; None for one of its own.
    """

    def __init__(
        self, batch: Experience, wanted: int, processes: ProcessGroup, shuffler: Shuffler | None = None
    ) -> None:
        self._batch, self._processes, self._shuffler = batch, processes, shuffler or Shuffler()
        self.rows = self._kept(batch)
        self._device = self.rows.rows.observations.device
        self.total, self.num_rows = self._counted()
        self._parts = max(1, min(wanted, self.total))

    def _kept(self, batch: Experience) -> Experience:
        """The rows that are shuffled."""
        return batch.counted()

    def _counted(self) -> tuple[int, int]:
        """``total`` and ``num_rows``."""
        return len(self.rows), self.rows.num_rows

    @property
    def lengths(self) -> list[int]:
        """Rows of each minibatch, of all processes together; they differ by one at most, and none is 0."""
        more = self.total % self._parts
        return [self.total // self._parts + (part < more) for part in range(self._parts)]

    @property
    def single_rows(self) -> Batch:
        """This process's rows, single ones also of sequences; those that do not count only if all are kept."""
        return self.rows.counted_rows()

    @spanned(ORDER)
    def shuffle(self, permutations: Permutation, passes: int = 1) -> Epoch:
        """The next epoch.

        Args:
            permutations: the generator that a permutation of ``total`` numbers is drawn from, or where the rows are on
                a GPU, its seed; or what gives such permutations, on the rows' device.
            passes: how many the epoch has; more than one where this is the only process.
        """
        return self._epoch(self._order(permutations, passes), passes)

    def _epoch(self, order: Tensor, passes: int) -> Epoch:
        return Epoch(order, self.lengths * passes, [1.0] * self._parts * passes, passes)

    def retarget(self, returns: Tensor) -> None:
        """Write other value targets over those of the rows: one for each row of the batch that was given."""
        self.rows.rows.returns.copy_(self._kept(self._batch.with_columns(returns=returns)).rows.returns)

    def _order(self, permutations: Permutation, passes: int) -> Tensor:
        """Permutations of the rows, on their device: shuffling on the host would keep a GPU waiting."""
        if not isinstance(permutations, torch.Generator):
            return given_numbers(permutations, passes, self.total)
        generator = permutations
        if self._device.type == "cpu":
            return self._shuffler(self.total, self._parts, generator, passes)
        return torch.cat([self._order_on_gpu(generator) for _ in range(passes)])

    def _order_on_gpu(self, generator: torch.Generator) -> Tensor:
        if generator.device.type == self._device.type:
            return torch.randperm(self.total, generator=generator, device=self._device)
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        generator = torch.Generator(self._device).manual_seed(seed)
        order = torch.randperm(self.total, generator=generator, device=self._device)
        return self._processes.first_says(order)  # another model of GPU may draw another from the same seed


class KeptMinibatches(Minibatches):
    """Shuffles rows that do not count, too, with their mask; arguments as of ``Minibatches``.

    How many count is then not read to the host, and no shape depends on it.
    """

    def _kept(self, batch: Experience) -> Experience:
        return batch.with_blanks()

    def _counted(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows.rows)

    @property
    def single_rows(self) -> Batch:
        """All rows."""
        return self.rows.rows

    def shuffle(self, permutations: Permutation, passes: int = 1) -> Epoch:
        """The next epoch; a single minibatch takes the rows as they lie, since their order then only rounds sums."""
        if self._parts > 1:
            return super().shuffle(permutations, passes)
        return Epoch(None, self.lengths * passes, [1.0] * passes, passes)

    def retarget(self, returns: Tensor) -> None:
        """Write other value targets over those of the rows."""
        self.rows.rows.returns.copy_(returns)


class SharedMinibatches(Minibatches):
    """Minibatches of several processes, which unite to those of a single one; arguments as of ``Minibatches``.

    All processes draw the same permutation of all rows that count, numbered as one process would number them, and each
    takes its own out of every part. The batch has its blocks.
    """

    def _counted(self) -> tuple[int, int]:
        self._weights = self.rows.weights
        self._numbers, total = _numbered(self._batch.counted_blocks(), self._processes)
        return total, int(self._processes.sum(torch.tensor(float(self.rows.num_rows), dtype=torch.float64)))

    def _epoch(self, order: Tensor, passes: int) -> Epoch:
        own = torch.full((self.total,), -1)  # on the host, where the lengths are wanted
        own[self._numbers] = torch.arange(len(self.rows))
        parts = [part[part >= 0] for part in own[order.cpu()].split(self.lengths)]
        return Epoch(torch.cat(parts).to(self._device), [len(part) for part in parts], self._shares(parts))

    def _shares(self, parts: Sequence[Tensor]) -> list[float]:
        """This process's share of each minibatch's rows."""
        if self._weights is None:
            return [len(part) / whole for part, whole in zip(parts, self.lengths, strict=True)]
        own = torch.stack([self._weights[part].sum() for part in parts]).double()
        return (own / self._processes.sum(own.clone())).tolist()

    def normalised(self, epoch: Epoch) -> Experience:
        """The rows, with advantages of mean 0 and (unbiased) standard deviation 1 in each minibatch of all processes.

        Args:
            epoch: what ``shuffle`` returned.
        """
        advantages = self.rows.rows.advantages
        order, lengths = self.rows.row_order(epoch.shuffled, epoch.lengths)
        wholes = self._processes.sum(torch.tensor(lengths, dtype=advantages.dtype, device=advantages.device))
        shuffled = advantages[order].split(lengths)
        means = self._processes.sum(torch.stack([part.sum() for part in shuffled])) / wholes
        centred = [part - mean for part, mean in zip(shuffled, means, strict=True)]
        squares = self._processes.sum(torch.stack([(part**2).sum() for part in centred]))
        deviations = (squares / (wholes - 1).clamp(min=1)).sqrt() + NORM_EPS
        scaled = [part / deviation for part, deviation in zip(centred, deviations, strict=True)]
        return self.rows.with_columns(advantages=torch.zeros_like(advantages).index_copy_(0, order, torch.cat(scaled)))


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
