"""Minibatches of a rollout's rows: parts of a random permutation, drawn over the rows of all processes.

Where the policy is recurrent, read "sequences" for "rows": whole sequences are shuffled then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.policies.fused import Shuffler
from warpworld.trainers.algorithms.experience import NORM_EPS, Batch, Experience
from warpworld.trainers.processes import ProcessGroup
from warpworld.trainers.spans import ORDER, spanned


@dataclass(frozen=True)
class Epoch:
    """A pass over this process's rows, or several, one behind the other.

    Attributes:
        order: (passes * own rows,) int64, pass by pass, on the rows' device; None for a single
            minibatch of all rows as they lie.
        lengths: how many of them each minibatch has; 0 where all rows of a minibatch are other processes'.
        shares: which part of each minibatch's rows that count these are, in [0, 1]; 1 where there is one process.
    """

    order: Tensor | None
    lengths: list[int]
    shares: list[float]


class Minibatches:
    """Shuffles a rollout's rows into minibatches, anew in each epoch.

    All processes draw the same permutation of all rows that count, numbered as one process would number them, and each
    takes its own out of every part. So the minibatches of the processes unite to those of a single one.

    Attributes:
        rows: this process's rows that are shuffled.
        total: their number in all processes.
        num_rows: how many single rows these are in all processes.

    Args:
        batch: this process's rows; where there are several processes, with their blocks.
        wanted: how many minibatches; less where there are fewer rows.
        processes: those that learn together.
        keeps_all: shuffle rows that do not count, too, with their mask: how many count is then not read to the host,
            and no shape depends on it.
        shuffler: shuffles rows on the cpu; None for one of its own.
    """

    def __init__(
        self,
        batch: Experience,
        wanted: int,
        processes: ProcessGroup,
        keeps_all: bool = False,
        shuffler: Shuffler | None = None,
    ) -> None:
        self._batch, self._keeps_all, self._shuffler = batch, keeps_all, shuffler or Shuffler()
        self.rows = self._kept(batch)
        self.total = len(self.rows)
        self.num_rows = len(self.rows.rows) if keeps_all else self.rows.num_rows
        self._processes, self._device = processes, self.rows.rows.observations.device
        self._numbers: Tensor | None = None
        if processes.several:
            self._weights = self.rows.weights
            self._numbers, self.total = _numbered(batch.counted_blocks(), processes)
            self.num_rows = int(processes.sum(torch.tensor(float(self.num_rows), dtype=torch.float64)))
        self._parts = max(1, min(wanted, self.total))

    @property
    def lengths(self) -> list[int]:
        """Rows of each minibatch, of all processes together; they differ by one at most, and none is 0."""
        more = self.total % self._parts
        return [self.total // self._parts + (part < more) for part in range(self._parts)]

    @property
    def is_whole(self) -> bool:
        """Whether a pass is a single minibatch of rows that are all kept: their order then only rounds sums."""
        return self._keeps_all and self._parts == 1 and self._numbers is None

    @property
    def single_rows(self) -> Batch:
        """This process's rows, single ones also of sequences; those that do not count only if all are kept."""
        return self.rows.rows if self._keeps_all else self.rows.counted_rows()

    def whole(self) -> Epoch:
        """The next epoch where ``is_whole``, without a permutation and a copy of the rows."""
        return Epoch(None, self.lengths, [1.0])

    @spanned(ORDER)
    def shuffle(self, permutations: torch.Generator | Tensor, passes: int = 1) -> Epoch:
        """The next epoch.

        Args:
            permutations: the generator that a permutation of ``total`` numbers is drawn from, or where the rows are on
                a GPU, its seed; or such a permutation, on the rows' device.
            passes: how many the epoch has; more than one where this is the only process, and its rows are on the cpu.
        """
        order = permutations if isinstance(permutations, Tensor) else self._permutation(permutations, passes)
        if self._numbers is None:
            return Epoch(order, self.lengths * passes, [1.0] * self._parts * passes)
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

    def retarget(self, returns: Tensor) -> None:
        """Write other value targets over those of the rows: one for each row of the batch that was given."""
        shuffled = returns if self._keeps_all else self._kept(self._batch.with_columns(returns=returns)).rows.returns
        self.rows.rows.returns.copy_(shuffled)

    def _kept(self, batch: Experience) -> Experience:
        return batch.with_blanks() if self._keeps_all else batch.counted()

    def _permutation(self, generator: torch.Generator, passes: int) -> Tensor:
        """A permutation of the rows, on their device: shuffling on the host would keep a GPU waiting."""
        if self._device.type == "cpu":
            return self._shuffler(self.total, self._parts, generator, passes)
        if generator.device.type == self._device.type:
            return torch.randperm(self.total, generator=generator, device=self._device)
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        generator = torch.Generator(self._device).manual_seed(seed)
        order = torch.randperm(self.total, generator=generator, device=self._device)
        return self._processes.first_says(order)  # another model of GPU may draw another from the same seed

    def normalised(self, epoch: Epoch) -> Experience:
        """The rows, with advantages of mean 0 and (unbiased) standard deviation 1 in each minibatch of all processes.

        Args:
            epoch: what ``shuffle`` returned.
        """
        assert epoch.order is not None
        advantages = self.rows.rows.advantages
        order, lengths = self.rows.row_order(epoch.order, epoch.lengths)
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
