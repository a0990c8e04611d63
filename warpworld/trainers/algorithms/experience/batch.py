"""Rows to learn from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import StoreError
from warpworld.policies import Policy

NORM_EPS = 1e-8  # keeps equal advantages from dividing by zero


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows to learn from: one per agent and step, B of them, in any order.

    Attributes:
        observations: (B, entries), rows: float32, or uint8 where they are of bytes.
        actions: (B, heads) integer, or (B, dimensions) float as drawn for actions in a Box.
        log_probs: (B,) float32, log-probability of the actions under the policy that took them.
        advantages: (B,) float32.
        returns: (B,) float32, what the value function should say.
        values: (B,) float32, its values when the actions were taken.
        mask: (B,) bool, False for rows that do not count; None counts all.
        action_masks: (B, choices) bool, False for choices that were forbidden; None where all were allowed.
        critic_inputs: (B, numbers) float32, what the critic reads; None where that is the observations.
        importance: (B,) float32, weights of advantages, after these are normalised; None weighs all by 1.
        blocks: lengths of the successive parts, each of one step and one group, between which other processes have rows
            of their own; empty where there is one process, or where the order is another.
        evaluation: what ``evaluated`` gives, where that is known: of the only policy and weights that it is asked for.
    """

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    mask: Tensor | None = None
    action_masks: Tensor | None = None
    critic_inputs: Tensor | None = None
    importance: Tensor | None = None
    blocks: tuple[int, ...] = ()
    evaluation: tuple[Tensor, Tensor] | None = None

    def __post_init__(self) -> None:
        """Refuse what would otherwise broadcast to wrong numbers in silence."""
        rows = len(self.observations)
        for name, tensor in self.named_tensors():
            dims = 2 if name in ("observations", "actions", "action_masks", "critic_inputs") else 1
            if tensor.dim() != dims or len(tensor) != rows:
                wanted = f"({rows}, ...)" if dims == 2 else f"({rows},)"
                raise StoreError(f"batch {name}: shape {tuple(tensor.shape)}, expected {wanted} like its other tensors")
        for name in ("mask", "action_masks"):
            tensor = getattr(self, name)
            if tensor is not None and tensor.dtype != torch.bool:
                raise StoreError(f"batch {name}: dtype {tensor.dtype}, expected torch.bool")

    def __len__(self) -> int:
        return len(self.observations)

    @staticmethod
    def join(batches: Sequence[Batch]) -> Batch:
        """The rows of several batches, one after the other; those of one without a mask all count."""
        if len(batches) == 1:
            return batches[0]
        if any(batch.mask is not None for batch in batches):
            batches = [batch if batch.mask is not None else batch.all_counted() for batch in batches]
        columns = [dict(batch.named_tensors()) for batch in batches]
        joined: dict[str, Any] = {name: torch.cat([column[name] for column in columns]) for name in columns[0]}
        return Batch(**joined, blocks=tuple(length for batch in batches for length in batch.blocks))

    def all_counted(self) -> Batch:
        """A copy with a mask in which every row counts."""
        return dataclasses.replace(self, mask=torch.ones_like(self.log_probs, dtype=torch.bool))

    def counted(self) -> Batch:
        """Return the rows that count; with a mask, this reads their number back to the host."""
        if self.mask is None:
            return self
        return dataclasses.replace(self.take(self.mask.nonzero().squeeze(1)), mask=None)

    def with_blanks(self) -> Batch:
        """A copy with 0 in rows that do not count, so that a network's outputs are finite: what agents see and do."""
        if self.mask is None or self.evaluation is not None:  # what is evaluated has been blanked
            return self
        left_out = ~self.mask.unsqueeze(-1)
        blanks = {name: tensor.masked_fill(left_out, 0.0) for name, tensor in self._floats()}
        return self.with_columns(**blanks)

    def with_finite(self) -> Batch:
        """A copy with 0 for what is not finite in rows that do not count, and all else as it is."""
        if self.mask is None:
            return self
        counts = self.mask.unsqueeze(-1)
        finite = {name: torch.where(counts | tensor.isfinite(), tensor, 0.0) for name, tensor in self._floats()}
        return self.with_columns(**finite)

    def _floats(self) -> list[tuple[str, Tensor]]:
        """Float columns of observations, actions and critic inputs, by name."""
        names = ("observations", "actions", "critic_inputs")
        return [(name, tensor) for name, tensor in self.named_tensors() if name in names and tensor.is_floating_point()]

    def counted_blocks(self) -> tuple[int, ...]:
        """Rows of each block that count; reads them back to the host where there is a mask."""
        if self.mask is None or not self.blocks:
            return self.blocks
        return tuple(torch.stack([part.sum() for part in self.mask.split(list(self.blocks))]).tolist())

    def take(self, rows: Tensor) -> Batch:
        """A copy of the given rows, (rows,) int64, in that order."""
        taken: dict[str, Any] = {name: tensor.index_select(0, rows) for name, tensor in self.named_tensors()}
        return Batch(**taken)

    def split(self, lengths: Sequence[int]) -> Iterator[Batch]:
        """Views of successive rows, in parts of the given lengths, which add up to B."""
        names, tensors = zip(*self.named_tensors(), strict=True)
        for pieces in zip(*(tensor.split(list(lengths)) for tensor in tensors), strict=True):
            yield Batch(**dict(zip(names, pieces, strict=True)))

    def with_columns(self, **columns: Tensor) -> Batch:
        """A copy of the rows with other columns."""
        return dataclasses.replace(self, **columns)  # type: ignore[arg-type]

    # ---- what Sequences have too, where a minibatch is made of more than single rows ---------------------------------
    @property
    def rows(self) -> Batch:
        """The rows: itself."""
        return self

    @property
    def weights(self) -> None:
        """Weights of the rows: None, since every row counts the same."""

    @property
    def num_rows(self) -> int:
        """Number of rows that count, of a batch that is ``counted``."""
        return len(self)

    def counted_rows(self) -> Batch:
        """Return what ``counted`` does."""
        return self.counted()

    def row_order(self, order: Tensor, lengths: Sequence[int]) -> tuple[Tensor, list[int]]:
        """The given rows, in that order, and how many the parts of ``lengths`` have."""
        return order, list(lengths)

    def evaluated(self, policy: Policy) -> tuple[Tensor, Tensor]:
        """Evaluate a policy on the rows: outputs (B, num_outputs) and values (B,)."""
        return policy(self.observations, self.critic_inputs) if self.evaluation is None else self.evaluation

    def named_tensors(self) -> list[tuple[str, Tensor]]:
        """Name and tensor of each field that is set."""
        fields = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        return [(name, value) for name, value in fields if isinstance(value, Tensor)]


# ---- means over the rows that count ----------------------------------------------------------------------------------
def blank(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` with 0 in rows that do not count: a mere weight of 0 would let NaN and inf through to the gradient."""
    return x if mask is None else torch.where(mask, x, 0.0)


def mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean of the rows that count, 0 if there are none."""
    return blank(x, mask).sum() / _count(x, mask)


def normalise(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` shifted and scaled to mean 0 and (unbiased) standard deviation 1 of the rows that count."""
    centred = x - mean(x, mask)
    variance = blank(centred**2, mask).sum() / _count(x, mask, spare=1)
    return centred / (variance.sqrt() + NORM_EPS)


def _count(x: Tensor, mask: Tensor | None, spare: int = 0) -> Tensor | int:
    """Number of rows that count, less ``spare``, but at least 1: a divisor."""
    return max(len(x) - spare, 1) if mask is None else (mask.sum() - spare).clamp(min=1)
