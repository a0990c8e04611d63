"""Sequences of rows that a recurrent policy learns from, with the state that each begins with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import StoreError
from warpworld.policies import Policy, RecurrentPolicy
from warpworld.trainers.algorithms.experience.batch import Batch

WORD = 8  # bytes of an int64


@dataclass(frozen=True, eq=False)
class Sequences:
    """S agents' ways through a rollout of T steps.

    Attributes:
        rows: S * T rows, one sequence behind the other. Rows that do not count stay in their places.
        states: (S, state size) float32, the recurrent state before the first step.
        starts: (S, T) bool, where the state is zeroed before the step.
        blocks: as a Batch's, in sequences: each of one group.
    """

    rows: Batch
    states: Tensor
    starts: Tensor
    blocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.starts.dim() != 2 or len(self.states) != len(self.starts) or len(self.rows) != self.starts.numel():
            raise StoreError(
                f"sequences: {len(self.rows)} rows, states {tuple(self.states.shape)} and starts "
                f"{tuple(self.starts.shape)}, expected (S, T) starts, S states and S * T rows"
            )

    def __len__(self) -> int:
        return len(self.states)

    @property
    def length(self) -> int:
        """T, steps of each sequence."""
        return self.starts.shape[1]

    @staticmethod
    def of_rollout(rows: Batch, states: Tensor, starts: Tensor) -> Sequences:
        """The sequences of one group's rollout.

        What is not finite in a row that does not count is taken as 0, and so is a state: an agent that is out may see
        what it likes, and a weight of 0 would not keep NaN from the gradient. In rows of bytes a policy does so itself.

        Args:
            rows: T * S rows, step by step.
            states: (S, state size).
            starts: (T, S) bool.
        """
        length, agents = starts.shape
        turned: dict[str, Any] = {
            name: _turned(tensor, (length, agents)).flatten(0, 1) for name, tensor in rows.named_tensors()
        }
        if rows.mask is not None:
            seen = turned["observations"]
            if seen.is_floating_point():
                turned["observations"] = torch.where(turned["mask"].unsqueeze(-1) | seen.isfinite(), seen, 0.0)
            states = torch.nan_to_num(states, nan=0.0, posinf=0.0, neginf=0.0)
        return Sequences(Batch(**turned), states, starts.t(), (agents,))

    @staticmethod
    def join(parts: Sequence[Sequences]) -> Sequences:
        """The sequences of several groups, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return Sequences(
            rows=Batch.join([part.rows for part in parts]),
            states=torch.cat([part.states for part in parts]),
            starts=torch.cat([part.starts for part in parts]),
            blocks=tuple(length for part in parts for length in part.blocks),
        )

    def turned_back(self, column: Tensor) -> Tensor:
        """A column of the rows, (S * T,), step by step: (T, S)."""
        return column.view(self.starts.shape).t()

    def evaluated(self, policy: Policy) -> tuple[Tensor, Tensor]:
        """Evaluate a policy on the sequences: outputs (S * T, num_outputs) and values (S * T,)."""
        assert isinstance(policy, RecurrentPolicy)
        observations = _turned(self.rows.observations, self.starts.shape)
        read = self.rows.critic_inputs
        read = None if read is None else read.unflatten(0, self.starts.shape).transpose(0, 1)
        outputs, values = policy.replay(observations, self.states, self.starts.t(), read)
        return outputs.transpose(0, 1).flatten(0, 1), values.t().flatten()

    # ---- what minibatches are made of, as a Batch has it -------------------------------------------------------------
    @property
    def weights(self) -> Tensor | None:
        """Rows of each sequence that count, (S,) int64 on the host; None where all do."""
        return None if self.rows.mask is None else self._counted().sum(1).cpu()

    @property
    def num_rows(self) -> int:
        """Number of rows that count; read back to the host if there is a mask."""
        return len(self.rows) if self.rows.mask is None else int(self.rows.mask.sum())

    def counted(self) -> Sequences:
        """Return the sequences in which a row counts; with a mask, this reads their number back to the host."""
        return self if self.rows.mask is None else self.take(self._counted().any(1).nonzero().squeeze(1))

    def with_blanks(self) -> Sequences:
        """A copy with 0 for what is not finite in rows that do not count: finite ones are remembered all the same."""
        return self if self.rows.mask is None else dataclasses.replace(self, rows=self.rows.with_finite())

    def counted_rows(self) -> Batch:
        """Return the rows that count, without their order in time."""
        return self.rows.counted()

    def counted_blocks(self) -> tuple[int, ...]:
        """Sequences of each block in which a row counts; reads them back to the host where there is a mask."""
        if self.rows.mask is None or not self.blocks:
            return self.blocks
        return tuple(torch.stack([part.sum() for part in self._counted().any(1).split(list(self.blocks))]).tolist())

    def take(self, sequences: Tensor) -> Sequences:
        """A copy of the given sequences, (sequences,) int64, in that order."""
        rows = self.rows.take(self._places(sequences).flatten())
        return Sequences(rows, self.states.index_select(0, sequences), self.starts.index_select(0, sequences))

    def split(self, lengths: Sequence[int]) -> Iterator[Sequences]:
        """Views of successive sequences, in parts of the given lengths, which add up to S."""
        rows = self.rows.split([length * self.length for length in lengths])
        for parts in zip(rows, self.states.split(list(lengths)), self.starts.split(list(lengths)), strict=True):
            yield Sequences(*parts)

    def row_order(self, order: Tensor, lengths: Sequence[int]) -> tuple[Tensor, list[int]]:
        """The rows that count of the given sequences, in that order, and how many the parts of ``lengths`` have."""
        places = self._places(order)
        if self.rows.mask is None:
            return places.flatten(), [length * self.length for length in lengths]
        counts = self.rows.mask[places]
        return places[counts], [int(part.sum()) for part in counts.split(list(lengths))]

    def with_columns(self, **columns: Tensor) -> Sequences:
        """A copy of the sequences with other columns in their rows."""
        return dataclasses.replace(self, rows=self.rows.with_columns(**columns))

    def _counted(self) -> Tensor:
        """The mask, (S, T)."""
        assert self.rows.mask is not None
        return self.rows.mask.view(self.starts.shape)

    def _places(self, sequences: Tensor) -> Tensor:
        """Rows of the given sequences, (sequences, T)."""
        return sequences[:, None] * self.length + torch.arange(self.length, device=sequences.device)


def _turned(rows: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Rows (A * B, ...) of a shape (A, B) with the other one first, (B, A, ...): a view, or of bytes on a GPU a copy.

    Bytes are copied eight at a time: one by one they take a GPU as long as so many floats.
    """
    turned = rows.unflatten(0, shape).transpose(0, 1)
    if not rows.is_cuda or rows.dtype != torch.uint8 or rows.shape[1] % WORD or not rows.is_contiguous():
        return turned
    return turned.view(torch.int64).contiguous().view(torch.uint8) if rows.storage_offset() % WORD == 0 else turned


Experience = Batch | Sequences


def joined(parts: Sequence[Experience]) -> Experience:
    """Join the experience of all groups of a policy, one after the other."""
    sequences = [part for part in parts if isinstance(part, Sequences)]
    return Sequences.join(sequences) if sequences else Batch.join([part for part in parts if isinstance(part, Batch)])
