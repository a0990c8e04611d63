"""Rows of observations: all parts of what an agent sees behind each other, as rollouts keep them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from gymnasium.spaces import Space
from torch import Tensor

from warpworld.environment import parts_of


class ObservationRows:
    """Layout of an observation's parts in a row.

    Where all parts are float32 a row holds these. Else it holds bytes: each part as the store has it, so that an image
    of uint8 takes one byte a number, and one of float16 two.

    Attributes:
        parts: of the observation, in their order.
        dtype: "float32" or "uint8".
        size: entries of a row.

    Args:
        observation: the space of one agent's observation.
    """

    def __init__(self, observation: Space) -> None:
        self.parts = list(parts_of(observation).values())
        self.is_plain = all(part.dtype == "float32" for part in self.parts)
        self.dtype = "float32" if self.is_plain else "uint8"
        widths = [part.numbers if self.is_plain else part.bytes for part in self.parts]
        self._ends = list(accumulate(widths))
        self.size = self._ends[-1]

    def join(self, parts: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
        """Rows of what stands in the store.

        Args:
            parts: (..., numbers) each, of their own dtypes.
            out: where they are written, (..., size); None for a new tensor.
        """
        if not self.is_plain:
            return torch.cat([_bytes_of(part) for part in parts], -1, out=out)
        return torch.cat(list(parts), -1, out=out)

    def split(self, rows: Tensor) -> list[Tensor]:
        """Rows of bytes, (..., size), -> what each part holds, (..., numbers), in its own dtype."""
        found = []
        for part, end in zip(self.parts, self._ends, strict=True):
            piece = rows[..., end - part.bytes : end]
            if not _is_aligned(piece, getattr(torch, part.dtype).itemsize):
                piece = piece.clone(memory_format=torch.contiguous_format)
            found.append(piece.view(getattr(torch, part.dtype)))
        return found

    def floats(self, rows: Tensor) -> Tensor:
        """Rows (..., size) -> the numbers of all parts that hold floats, (..., numbers) float32; there may be none."""
        return rows if self.is_plain else self.floats_of(self.split(rows))

    def floats_of(self, values: Sequence[Tensor]) -> Tensor:
        """Floats among the parts' values, as ``floats`` orders them: (..., numbers) each -> (..., floats) float32."""
        held = [numbers.float() for part, numbers in zip(self.parts, values, strict=True) if part.is_float]
        return torch.cat(held, -1) if held else values[0].new_zeros((*values[0].shape[:-1], 0), dtype=torch.float32)


def _bytes_of(part: Tensor) -> Tensor:
    """The bytes of numbers; a single one in a row may have any stride."""
    beside = part if part.stride(-1) == 1 else part.clone(memory_format=torch.contiguous_format)
    return beside.view(torch.uint8)


def _is_aligned(piece: Tensor, size: int) -> bool:
    """Whether numbers of ``size`` bytes begin where their size divides the address."""
    return not any(place % size for place in (piece.storage_offset(), *piece.stride()[:-1]))
