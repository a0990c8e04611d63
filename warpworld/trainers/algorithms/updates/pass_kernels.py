"""Common parts of kernels that take whole passes over the rows of a rollout, see passes.cuh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from warpworld.policies import Categorical, Policy
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.experience import Batch, Experience, Sequences
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.algorithms.updates.joint_passes import DuePasses, PassLaunches
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.optimizer_steps import NO_STEPS, KernelSteps, moves_of
from warpworld.trainers.algorithms.updates.row_loss import (
    FIGURES,
    MOMENTS,
    addresses_of,
    columns_of,
    numbers_of,
)

MOST_PARTS_OF_MOMENTS, ROWS_OF_MOMENTS = 256, 2048  # in which a minibatch's moments are found, of so many rows at least
WAYS = 4  # threads that share a parameter of a sum, as passes.cuh has them
MOST_SUMS = 128  # that a minibatch's sums, and its steps, are divided into

Prepare = Callable[[int, int, Sequence[float]], DuePasses]
"""Prepares minibatches: the first one's number, how many, and fields of the struct Adam."""


@dataclass(frozen=True)
class Work:
    """Work of a kernel of passes for a minibatch, beside what all of them do.

    Attributes:
        read: tensors that its networks read, None for what there is not; their addresses follow the struct Course.
        sizes: numbers behind these.
        found: memory for what parts of a minibatch find; addresses behind these.
        found_sizes: numbers behind these.
        turns: that learn from a minibatch.
        most: blocks that find work at once.
        flop: operations of products for each row.
        moved: bytes of scratch memory that are written for each row, and read.
    """

    read: Sequence[Tensor | None]
    sizes: Sequence[int]
    found: Sequence[Tensor]
    found_sizes: Sequence[int]
    turns: int
    most: int
    flop: float
    moved: tuple[float, float] = (0.0, 0.0)


class PassKernels:
    """Gradients of the losses of PPO and A2C for minibatches of rows of choices, and an optimiser's steps along them.

    They differ from those of torch by the rounding of float32. Gradients are scaled down to a length.

    Attributes:
        moves: memory for the moves of matrices; None without Muon.
        is_reduced: whether hidden layers multiply in bfloat16.

    Args:
        launches: of the world's policies.
        policy: whose gradients they are; it acts by choices.
        parameters: of the policy.
        source: the kernels' file.
        kernel: name of the one that learns.
        lanes: threads of a block.
        shared: constants of the file that policies share, besides those of the optimiser.
        own: constants of the networks' shape, besides those of choices.
    """

    is_reduced: bool = False

    def __init__(
        self,
        launches: PassLaunches,
        policy: Policy,
        parameters: FlatParameters,
        source: Path,
        kernel: str,
        lanes: int,
        shared: Mapping[str, int],
        own: Mapping[str, int],
    ) -> None:
        assert isinstance(policy.distribution, Categorical)
        sizes, device = policy.distribution.head_sizes, launches.world.device
        equal = len(set(sizes)) == 1
        heads = {"LOGITS": sum(sizes), "NUM_HEADS": len(sizes), "HEAD_SIZE": sizes[0] if equal else 0}
        self.moves = moves_of(parameters)
        self._launch = launches.of(source, kernel, lanes, {**shared, "MUON": self.moves is not None})
        self._number, self._shape = self._launch.add({**own, **heads})
        self._policy, self._parameters, self._lanes = policy, parameters, lanes
        self._head_sizes = torch.tensor(list(sizes), dtype=torch.int32, device=device)
        self._counters = torch.zeros(3, dtype=torch.int32, device=device)

    @property
    def num_envs(self) -> int:
        """Envs that there are at most to share the work."""
        return self._launch.world.num_envs

    # ---- what kernels of their own say -------------------------------------------------------------------------------
    def takes_rows(self, rows: Experience, longest: int) -> bool:
        """Whether the kernel reads such rows, of minibatches of so many at most."""
        raise NotImplementedError

    def work(self, rows: Experience, longest: int) -> Work:
        """Work of the kernel for a minibatch of so many rows, or sequences, at most."""
        raise NotImplementedError

    # ---- what all of them do -----------------------------------------------------------------------------------------
    def takes(self, rows: Experience, epoch: Epoch) -> bool:
        """Whether the kernels compute the gradients of an epoch: of rows as a rollout records them."""
        if not self._launch.is_here(rows.rows.actions) or not self._is_exact():
            return False
        lengths = epoch.lengths[: len(epoch.lengths) // epoch.passes]
        total, count = sum(lengths), len(lengths)
        are_equal = lengths == [total // count + (part < total % count) for part in range(count)]
        is_plain = rows.rows.observations.dtype == torch.float32 and rows.rows.actions.dtype == torch.int32
        return are_equal and is_plain and min(lengths) > 0 and self.takes_rows(rows, max(lengths))

    def _is_exact(self) -> bool:
        """Whether products would now be of the kernel's precision."""
        device = self._parameters.vector.device.type
        if torch.is_autocast_enabled(device):
            return self.is_reduced and torch.get_autocast_dtype(device) == torch.bfloat16
        return not self.is_reduced and torch.get_float32_matmul_precision() == "highest"

    def __call__(
        self, rows: Experience, epoch: Epoch, terms: LossTerms, longest: float
    ) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        """Leave each minibatch's gradient in the parameters' ``grad``, and give its length and diagnostics.

        Args:
            rows: that the epoch shuffles.
            epoch: the minibatches; ``takes`` says yes to it.
            terms: of the loss.
            longest: length that the gradient is scaled down to.

        Yields:
            The length before, and ``DIAGNOSTICS`` by name, () float32 each.
        """
        prepare = self._prepare(rows, epoch, terms, longest)
        for number in range(len(epoch.lengths)):
            found = prepare(number, 1, NO_STEPS)()[number]
            yield found[-1], dict(zip(DIAGNOSTICS, found.unbind(), strict=False))

    def steps(self, rows: Experience, epoch: Epoch, terms: LossTerms, longest: float, steps: KernelSteps) -> DuePasses:
        """All steps of an epoch, which are taken in one launch; arguments as of a call."""
        count, vector = len(epoch.lengths), self._parameters.vector
        rates = vector.new_empty(count)
        return self._prepare(rows, epoch, terms, longest, rates)(0, count, steps.numbers(vector, rates))

    def _prepare(
        self, rows: Experience, epoch: Epoch, terms: LossTerms, longest: float, rates: Tensor | None = None
    ) -> Prepare:
        """Function that prepares minibatches; arguments as of a call, and the rates that steps leave."""
        vector, minibatches = self._parameters.vector, len(epoch.lengths)
        work, columns = self.work(rows, max(epoch.lengths)), columns_of(rows.rows)
        # rows, and memory for moments, sums of squares, and what is said of minibatches
        order = 0 if epoch.order is None else epoch.order.data_ptr()
        steps = rows.length if isinstance(rows, Sequences) else 1
        passes = (order, sum(epoch.lengths) // epoch.passes, minibatches // epoch.passes, steps)
        moments = vector.new_empty(
            minibatches, self._parts_of_moments(passes, terms, rows.rows), MOMENTS, dtype=torch.float64
        )
        squares = vector.new_empty(self._dividing(WAYS), dtype=torch.float64)
        said = vector.new_empty(minibatches, len(DIAGNOSTICS) + 1)
        # fields of the struct Course on both sides of those that a launch sets, and those behind it
        places = (
            vector.data_ptr(),
            moments.data_ptr() if moments.numel() else 0,
            squares.data_ptr(),
            self._head_sizes.data_ptr(),
        )
        given = (self._parameters.gradient.data_ptr(), said.data_ptr(), longest if longest < math.inf else 0.0)
        before = (*addresses_of(columns), *passes, *places, *given)
        behind = (*numbers_of(terms), self._counters.data_ptr())
        own = (*addresses_of(work.read), *work.sizes, *addresses_of(work.found), *work.found_sizes)
        needs, held = self._needs(work, columns, epoch, steps), (work, columns, moments, squares, epoch, terms, rates)

        def prepare(first: int, count: int, adam: Sequence[float]) -> DuePasses:
            matrices = self.moves if adam[0] else None  # which have no turns without steps
            turns, at_once = (matrices.turns, matrices.most_at_once) if matrices else (0, 0)
            dividing = (work.turns, squares.numel(), self._dividing(1))
            blocks = max(work.most, *dividing[1:], at_once)
            division = (first, count, moments.shape[1], *dividing, turns, blocks, self._shape)
            flop, read, written = (count / minibatches * each for each in needs)
            numbers = (*before, *adam, *division, *behind, *own)
            return DuePasses(self._launch, self._number, numbers, blocks, (flop, read, written), said, held)

        return prepare

    def _needs(
        self, work: Work, columns: Sequence[Tensor | None], epoch: Epoch, steps: int
    ) -> tuple[float, float, float]:
        """Operations, and bytes read and written, of an epoch: rows once a pass, parameters once a minibatch."""
        rows, minibatches = sum(epoch.lengths) * steps, len(epoch.lengths)
        flop = work.flop * rows + (minibatches * self.moves.flop if self.moves else 0.0)
        tensors = {id(each): each.nbytes for each in (*columns, *work.read) if each is not None}
        moved = 3.0 * self._parameters.vector.nbytes * minibatches  # with Adam's moments
        written, read = (each * rows for each in work.moved)
        return flop, float(epoch.passes * sum(tensors.values())) + read + moved, written + moved

    def seen_by(self, observations: Tensor) -> list[Tensor | None]:
        """Tensors that a struct Seen points to."""
        normaliser = self._policy.normaliser
        if normaliser is None:
            return [observations.contiguous(), None, None]
        return [observations.contiguous(), normaliser.mean.float(), normaliser.scale.float()]

    def figures(self, parts: int) -> Tensor:
        """Memory for the diagnostics that parts find."""
        return self._parameters.vector.new_empty(parts, FIGURES, dtype=torch.float64)

    def _parts_of_moments(self, passes: tuple[int, int, int, int], terms: LossTerms, rows: Batch) -> int:
        """Parts in which a minibatch's moments are found; none where they are not needed."""
        _, total, of_pass, steps = passes
        is_needed = terms.normalise_advantages or rows.mask is not None
        return max(1, min(MOST_PARTS_OF_MOMENTS, -(-total // of_pass) * steps // ROWS_OF_MOMENTS)) if is_needed else 0

    def _dividing(self, lanes: int) -> int:
        """Blocks that share the parameters, of each of which so many lanes take care."""
        return min(-(-self._parameters.vector.numel() * lanes // self._lanes), MOST_SUMS)
