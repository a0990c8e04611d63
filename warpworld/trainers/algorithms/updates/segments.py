"""Minibatches of whole segments, drawn by the size of their advantages and weighted for that.

A segment is the steps of one agent through a rollout. The draws are those of prioritised replay (Schaul et al. 2016,
arXiv 1511.05952, equations 1 and 3.4, without the division by the largest weight), with PufferLib's priority:

    p_i = (sum over the segment's rows that count of |advantage|) + 1e-6
    P(i) = p_i^alpha / sum_j p_j^alpha        weight of each row of segment i: (N P(i))^-beta

over the N segments in which a row counts. No minibatch has a segment twice; each is drawn by itself.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from warpworld.trainers.algorithms.experience import Batch, Experience
from warpworld.trainers.algorithms.settings import SegmentDraws
from warpworld.trainers.algorithms.updates.minibatches import Epoch, Minibatches, Permutation, given_numbers
from warpworld.trainers.processes import ProcessGroup
from warpworld.trainers.spans import ORDER, spanned

PRIORITY_EPS = 1e-6  # keeps a segment without advantages from never being drawn


def probabilities(advantages: Tensor, mask: Tensor | None, alpha: float) -> Tensor:
    """Probability of each segment: (S,) float64, 0 where no row counts.

    Args:
        advantages: (T, S) float32.
        mask: (T, S) bool, which rows count; None for all.
        alpha: see above.
    """
    sizes = advantages.double().abs()
    if mask is not None:
        sizes = torch.where(mask, sizes, 0.0)
    shares = (sizes.sum(0) + PRIORITY_EPS) ** alpha
    if mask is not None:
        shares = torch.where(mask.any(0), shares, 0.0)
    return shares / shares.sum()


def importance(chances: Tensor, beta: float | Tensor) -> Tensor:
    """Weight of each segment that is drawn by such probabilities, (S,) float32; 1 where it is never drawn."""
    drawn = chances > 0
    weights = (drawn.sum() * torch.where(drawn, chances, 1.0)) ** -beta
    return torch.where(drawn, weights, 1.0).float()


def draw(chances: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Draw segments without replacement, each in proportion to its probability among those that are left.

    The smallest of Exp(1) / probability are such a draw (Efraimidis and Spirakis 2006).

    Args:
        chances: (S,) float64, probabilities.
        numbers: (draws, S) float64 in [0, 1), uniform.
        count: of a draw, at most S.

    Returns:
        (draws, count) int64, ascending in each draw. A segment of probability 0 comes after all others.
    """
    keys = -torch.log1p(-numbers) / chances
    keys = torch.where(chances > 0, keys, torch.inf)
    return keys.topk(count, largest=False).indices.sort().values


class Segments(Minibatches):
    """Draws minibatches of segments in place of shuffling rows.

    The rows have their weights in the column ``importance``. Probabilities stay the same through an update, as
    advantages do. Segments without a row that counts are left out.

    Args:
        batch: rows of this process, which is the only one; a batch with blocks, see ``Batch``, or sequences.
        wanted: parts of the segments, of which a minibatch is as large as one.
        processes: this one.
        draws: the rule.
    """

    def __init__(self, batch: Experience, wanted: int, processes: ProcessGroup, draws: SegmentDraws) -> None:
        super().__init__(batch, wanted, processes)
        self._draws, rows = draws, self.rows.rows
        self._segments: Tensor | None = None  # those that may be drawn; None for all
        self._members = _members(self.rows, draws.groups)
        mask = None if rows.mask is None else rows.mask[self._members]
        chances = probabilities(rows.advantages[self._members], mask, draws.alpha)
        weights = torch.ones_like(rows.advantages)
        weights[self._members] = importance(chances, draws.beta).expand(self._members.shape)
        self.rows = self.rows.with_columns(importance=weights)
        self._chances = chances
        if mask is not None:
            self._leave_out(mask)
        self.total = len(self._chances)
        self._count = max(1, self.total // wanted)

    def _leave_out(self, mask: Tensor) -> None:
        """Leave out segments without a row that counts, and such rows; their number is read to the host."""
        self._segments = mask.any(0).nonzero().squeeze(1)
        self._chances = self._chances[self._segments]
        self.num_rows = int(mask.sum())

    def numbers(self, passes: int = 1) -> tuple[int, int]:
        """Uniform numbers that so many passes need: (draws, segments)."""
        return passes * self._draws.per_pass, self.total

    @spanned(ORDER)
    def shuffle(self, permutations: Permutation, passes: int = 1) -> Epoch:
        """The next epoch.

        Args:
            permutations: the generator that uniform numbers are drawn from; or what gives such numbers of a pass or of
                all, (draws * segments,).
            passes: how many the epoch has.
        """
        shape = self.numbers(passes)
        if isinstance(permutations, torch.Generator):
            numbers = torch.rand(shape, dtype=torch.float64, generator=permutations, device=permutations.device)
        else:
            numbers = given_numbers(permutations, passes, math.prod(self.numbers(1))).view(shape)
        drawn = draw(self._chances, numbers.to(self._chances.device), self._count)
        if self._segments is not None:
            drawn = self._segments[drawn]
        order, lengths = self._ordered(drawn)
        return Epoch(order, lengths, [1.0] * len(lengths))

    def _ordered(self, drawn: Tensor) -> tuple[Tensor, list[int]]:
        """Items of the minibatches, one behind the other, and how many each has; without rows that do not count."""
        if not isinstance(self.rows, Batch):
            return drawn.flatten(), [self._count] * len(drawn)
        order = self._members[:, drawn].transpose(0, 1).flatten(1)  # steps come in order, as in the rollout
        if self._segments is None:
            return order.flatten(), [order.shape[1]] * len(drawn)
        counted = self.rows.mask[order]  # type: ignore[index]
        return order[counted], counted.sum(1).tolist()

    def _kept(self, batch: Experience) -> Experience:
        return batch.with_blanks()

    def _counted(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows.rows)


class KeptSegments(Segments):
    """Draws all segments, with the mask of rows that do not count; arguments as of ``Segments``.

    How many count is then not read to the host, and no shape depends on it.
    """

    def _leave_out(self, mask: Tensor) -> None:
        pass

    @property
    def single_rows(self) -> Batch:
        """All rows."""
        return self.rows.rows


def _members(rows: Experience, groups: int) -> Tensor:
    """Rows of each segment: (T, S) int64."""
    numbers = torch.arange(len(rows.rows), device=rows.rows.observations.device)
    if not isinstance(rows, Batch):
        return numbers.view(len(rows), -1).t()
    blocks = list(rows.blocks or (len(rows),))  # rows of no rollout are segments of one step
    steps = len(blocks) // groups if rows.blocks else 1
    of_groups = numbers.split([sum(blocks[first : first + steps]) for first in range(0, len(blocks), steps)])
    return torch.cat([own.view(steps, -1) for own in of_groups], 1)
