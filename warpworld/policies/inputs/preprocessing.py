"""Turns rows of bytes into the numbers that a model reads."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from warpworld.environment import Part
from warpworld.policies.inputs.normaliser import ObservationNormaliser
from warpworld.policies.inputs.observation_rows import ObservationRows
from warpworld.policies.layers import reduces_to_bf16


class Preprocessing(nn.Module):
    """Makes float32 features of observations that are not all floats.

    A float stays as it is, but 0 where it is not finite; a uint8 is divided by 255; a flag is 0 or 1; a choice becomes
    a one-hot vector, all 0 where it is outside of its space.

    Attributes:
        rows: how the observations lie.

    Args:
        rows: not plain.
        may_reduce: whether flags may be bfloat16 where layers multiply in it, which saves a copy; a model of one's own
            may do other things with them.
    """

    def __init__(self, rows: ObservationRows, may_reduce: bool = False) -> None:
        super().__init__()
        self.rows = rows
        self._features = nn.ModuleList(_features_of(part, may_reduce) for part in rows.parts)

    @property
    def growth(self) -> float:
        """Bytes of features by bytes of rows: 4 of uint8, 2 of float16."""
        return 4 * sum(math.prod(part.feature_shape) for part in self.rows.parts) / self.rows.size

    def forward(self, observations: Tensor, normaliser: ObservationNormaliser | None = None) -> Tensor:
        """(..., bytes) uint8 -> (..., features) float32.

        Args:
            observations: rows.
            normaliser: of what the floats among the parts hold; all other features are between 0 and 1 anyway.
        """
        return self.of_parts(self.rows.split(observations), normaliser)

    def of_parts(self, values: list[Tensor], normaliser: ObservationNormaliser | None = None) -> Tensor:
        """Features of the parts' values: (..., numbers) each, in its own dtype -> (..., features) float32."""
        if normaliser is not None:
            values = self._normalised(values, normaliser(self.rows.floats_of(values)))
        features = [make(part) for make, part in zip(self._features, values, strict=True)]
        return features[0] if len(features) == 1 else torch.cat(features, -1)

    def _normalised(self, values: list[Tensor], floats: Tensor) -> list[Tensor]:
        """The parts with other numbers in place of their floats."""
        counts = [part.numbers for part in self.rows.parts if part.is_float]
        given = iter(floats.split(counts, -1))
        return [next(given) if part.is_float else own for part, own in zip(self.rows.parts, values, strict=True)]


def _features_of(part: Part, may_reduce: bool) -> nn.Module:
    if part.is_choice:
        return OneHot(part)
    return Floats() if part.is_float else Flags(may_reduce) if part.dtype == "bool" else Scaled()


class Floats(nn.Module):
    """Floats as they are, (..., numbers) -> the same in float32.

    What is not finite becomes 0: an agent that is out may see what it likes, and rows that do not count must not reach
    a gradient. In a row that counts it is refused before anything is learnt from it.
    """

    def forward(self, values: Tensor) -> Tensor:
        """Convert to float32: (..., numbers) -> the same shape, with 0 for what is not finite."""
        return values.float().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


class Flags(nn.Module):
    """Flags as 0 and 1: (..., numbers) bool -> the same in float32, row by row in memory, as networks read them.

    Args:
        may_reduce: give bfloat16 where layers multiply in it, which has both numbers, too.
    """

    def __init__(self, may_reduce: bool = False) -> None:
        super().__init__()
        self._may_reduce = may_reduce

    def forward(self, values: Tensor) -> Tensor:
        """Convert to float32, or to bfloat16: (..., numbers) -> the same shape."""
        is_bf16 = self._may_reduce and values.is_cuda and reduces_to_bf16(values)
        return values.to(torch.bfloat16 if is_bf16 else torch.float32, memory_format=torch.contiguous_format)


class Scaled(nn.Module):
    """Bytes between 0 and 1: (..., numbers) uint8 -> the same in float32."""

    def forward(self, values: Tensor) -> Tensor:
        """Divide by 255: (..., numbers) uint8 -> (..., numbers) float32 in [0, 1]."""
        return values / 255


class OneHot(nn.Module):
    """Choices as one-hot vectors behind each other: (..., numbers) int32 -> (..., all choices together) float32."""

    number: Tensor
    choice: Tensor

    def __init__(self, part: Part) -> None:
        super().__init__()
        low, counts = part.low.ravel(), (part.high - part.low + 1).ravel()
        number = np.repeat(np.arange(len(counts)), counts)  # which of the numbers each feature looks at
        choice = np.concatenate([np.arange(first, first + count) for first, count in zip(low, counts, strict=True)])
        self.register_buffer("number", torch.from_numpy(number), persistent=False)
        self.register_buffer("choice", torch.from_numpy(choice.astype(np.int32)), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Encode each number as one-hot: (..., numbers) -> (..., choices of all numbers) float32."""
        return (values.index_select(-1, self.number) == self.choice).float()
