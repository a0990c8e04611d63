"""Common parts of kernels that take whole passes over the rows of a rollout, see passes.cuh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from warpworld.managers import Needs
from warpworld.policies import Categorical, Policy
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.experience import Batch, Experience, Sequences
from warpworld.trainers.algorithms.parameters import FlatParameters
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.algorithms.updates.minibatches import Epoch
from warpworld.trainers.algorithms.updates.optimizer_steps import NO_STEPS, KernelSteps, moves_of
from warpworld.trainers.algorithms.updates.row_loss import (
    FIGURES,
    MOMENTS,
    addresses_of,
    columns_of,
    numbers_of,
)
from warpworld.trainers.collecting import TensorKernels, needs_of
from warpworld.world import World

MOST_ENVS, ROWS_OF_MOMENTS = 256, 2048  # that find a minibatch's moments at most, of so many rows at least
WAYS = 4  # threads that share a parameter of a sum, as passes.cuh has them
MOST_SUMS = 128  # that a minibatch's sums, and its steps, are divided into

Learn = Callable[[int, int, Sequence[float]], Tensor]
"""Takes minibatches: the first one's number, how many, and fields of the struct Adam; gives what is said of all."""


@dataclass(frozen=True)
class Work:
    """Work of a kernel of passes for a minibatch, beside what all of them do.

    Attributes:
        read: tensors that its networks read, None for what there is not; their addresses follow the struct Rows.
        sizes: numbers behind these.
        found: memory for what parts of a minibatch find; addresses, behind those of the heads' sizes.
        found_sizes: numbers behind these.
        parts: fields of the struct Division between the number of minibatches and that of sums.
        most: blocks that find work at once.
        flop: operations of products for each row.
        moved: bytes of scratch memory that are written for each row, and read.
    """

    read: Sequence[Tensor | None]
    sizes: Sequence[int]
    found: Sequence[Tensor]
    found_sizes: Sequence[int]
    parts: Sequence[int]
    most: int
    flop: float
    moved: tuple[float, float] = (0.0, 0.0)


class PassKernels(TensorKernels):
    """Gradients of the losses of PPO and A2C for minibatches of rows of choices, and an optimiser's steps along them.

    They differ from those of torch by the rounding of float32. Gradients are scaled down to a length.

    Attributes:
        moves: memory for the moves of matrices; None without Muon.
        is_reduced: whether hidden layers multiply in bfloat16.

    Args:
        world: that is not sealed.
        policy: whose gradients they are; it acts by choices.
        parameters: of the policy.
        source: the kernels' file.
        kernel: name of the one that learns.
        constants: of the file, besides those of choices and of the optimiser.
        lanes: threads of a block.
    """

    is_reduced: bool = False

    def __init__(
        self,
        world: World,
        policy: Policy,
        parameters: FlatParameters,
        source: Path,
        kernel: str,
        constants: Mapping[str, int],
        lanes: int,
    ) -> None:
        assert isinstance(policy.distribution, Categorical)
        sizes = policy.distribution.head_sizes
        equal = len(set(sizes)) == 1
        heads = {"LOGITS": sum(sizes), "NUM_HEADS": len(sizes), "HEAD_SIZE": sizes[0] if equal else 0}
        self.moves = moves_of(parameters)
        settings = {**constants, **heads, "LANES": lanes, "MUON": self.moves is not None}
        super().__init__(world, source, settings, ["moments", kernel], lanes, exactly=True)
        self._policy, self._parameters, self._lanes, self._kernel = policy, parameters, lanes, kernel
        self._head_sizes = torch.tensor(list(sizes), dtype=torch.int32, device=world.device)
        self._counters = torch.zeros(3, dtype=torch.int32, device=world.device)

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
        if not self.is_here(rows.rows.actions) or not self._is_exact():
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
        learn = self._prepared(rows, epoch, terms, longest)
        for number in range(len(epoch.lengths)):
            found = learn(number, 1, NO_STEPS)[number]
            yield found[-1], dict(zip(DIAGNOSTICS, found.unbind(), strict=False))

    def steps(self, rows: Experience, epoch: Epoch, terms: LossTerms, longest: float, steps: KernelSteps) -> Tensor:
        """Take all steps of an epoch in one launch; arguments as of a call.

        Returns:
            (minibatches, 7) float32: of each its ``DIAGNOSTICS``, and its gradient's length.
        """
        count, vector = len(epoch.lengths), self._parameters.vector
        rates = vector.new_empty(count)
        return self._prepared(rows, epoch, terms, longest)(0, count, steps.numbers(vector, rates))

    def _prepared(self, rows: Experience, epoch: Epoch, terms: LossTerms, longest: float) -> Learn:
        """Function that launches the kernel that learns; arguments as of a call."""
        vector, minibatches = self._parameters.vector, len(epoch.lengths)
        steps = rows.length if isinstance(rows, Sequences) else 1
        work, columns = self.work(rows, max(epoch.lengths)), columns_of(rows.rows)
        order = 0 if epoch.order is None else epoch.order.data_ptr()
        passes = (order, sum(epoch.lengths) // epoch.passes, minibatches // epoch.passes, steps)
        moments = self._moments(columns, passes, minibatches, terms, rows.rows)
        # memory for sums of squares, and for what is said of minibatches
        squares = vector.new_empty(self._dividing(WAYS), dtype=torch.float64)
        said = vector.new_empty(minibatches, len(DIAGNOSTICS) + 1)
        # the kernel's arguments on both sides of the struct Adam
        read = (*addresses_of(columns), *addresses_of(work.read), *work.sizes, *passes, vector.data_ptr())
        of_moments = (moments.data_ptr() if moments.shape[1] else 0, moments.shape[1])
        found = (*addresses_of([*work.found, squares]), *work.found_sizes)
        given = (self._parameters.gradient.data_ptr(), said.data_ptr(), longest if longest < math.inf else 0.0)
        before = (*read, *of_moments, self._head_sizes.data_ptr(), *found, *given)
        division = (*work.parts, squares.numel(), self._dividing(1))
        behind = (*numbers_of(terms), self._counters.data_ptr())
        needs, held = self._needs(work, columns, epoch, steps), (work, columns, moments, squares)

        def learn(first: int, count: int, adam: Sequence[float], _: object = held) -> Tensor:
            matrices = self.moves if adam[0] else None  # which have no turns without steps
            turns, at_once = (matrices.turns, matrices.most_at_once) if matrices else (0, 0)
            numbers = (*before, *adam, first, count, *division, turns, *behind)
            needed = Needs(*(count / minibatches * each for each in needs))
            self.launch(self._kernel, (), numbers, max(work.most, *division[-2:], at_once), needed)
            return said

        return learn

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

    def _moments(
        self,
        columns: Sequence[Tensor | None],
        passes: tuple[int, int, int, int],
        minibatches: int,
        terms: LossTerms,
        rows: Batch,
    ) -> Tensor:
        """Moments of each minibatch's advantages, and how many rows count: (minibatches, parts, ``MOMENTS``) float64.

        There are no parts where neither is asked for.
        """
        is_needed = terms.normalise_advantages or rows.mask is not None
        _, total, of_pass, steps = passes
        parts = max(1, min(MOST_ENVS, -(-total // of_pass) * steps // ROWS_OF_MOMENTS)) if is_needed else 0
        found = rows.advantages.new_empty(minibatches, parts, MOMENTS, dtype=torch.float64)
        if parts:
            numbers = (*addresses_of(columns), *passes, found.data_ptr(), minibatches, parts)
            read = [rows.advantages, rows.mask] * (minibatches // of_pass)
            self.launch("moments", (), numbers, parts * minibatches, needs_of(read, (found,)))
        return found

    def _dividing(self, lanes: int) -> int:
        """Blocks that share the parameters, of each of which so many lanes take care."""
        return min(-(-self._parameters.vector.numel() * lanes // self._lanes), MOST_SUMS)
