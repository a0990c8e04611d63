"""The parts of an observation: how each lies in the store, and how many numbers a policy makes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

SERVED = "Box of float32, float16 or uint8, Discrete, MultiDiscrete or MultiBinary"
_BOXES = (np.float32, np.float16, np.uint8)


@dataclass(frozen=True, eq=False)
class Part:
    """Part of an agent's observation.

    Attributes:
        dtype: of the array that holds it: "float32", "float16", "uint8", "int32" for choices or "bool" for flags.
        shape: of one agent's part in the array.
        low: the least legal value of each number, (*shape).
        high: the greatest.
    """

    dtype: str
    shape: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray

    @property
    def is_float(self) -> bool:
        """Whether it holds floats, which policies read as they are."""
        return self.dtype.startswith("float")

    @property
    def is_choice(self) -> bool:
        """Whether each number is one of several choices, which policies read as a one-hot vector."""
        return self.dtype == "int32"

    @property
    def numbers(self) -> int:
        """Number of entries that one agent has in the array."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Number of bytes that one agent has in the array."""
        return self.numbers * np.dtype(self.dtype).itemsize

    @property
    def feature_shape(self) -> tuple[int, ...]:
        """Shape of what a policy reads: of the part itself, or (all choices together,)."""
        return (int((self.high - self.low + 1).sum()),) if self.is_choice else self.shape


def subspaces(observation: Space) -> dict[str, Space]:
    """The spaces of a Dict by key; any other space under the empty name."""
    return dict(observation.spaces) if isinstance(observation, Dict) else {"": observation}


def part_of(space: Space) -> Part | None:
    """A part that is not a Dict; None where the store has no place for such."""
    if isinstance(space, Box) and space.dtype in _BOXES:
        shape = tuple(space.shape) or (1,)
        return Part(str(space.dtype), shape, space.low.reshape(shape), space.high.reshape(shape))
    if isinstance(space, Discrete):
        return _choices(np.array([space.n], np.int64), np.array([space.start], np.int64))
    if isinstance(space, MultiDiscrete):
        return _choices(space.nvec.astype(np.int64), np.asarray(space.start, np.int64))
    if isinstance(space, MultiBinary):
        shape = tuple(space.shape)
        return Part("bool", shape, np.zeros(shape, np.bool_), np.ones(shape, np.bool_))
    return None


def _choices(counts: np.ndarray, first: np.ndarray) -> Part | None:
    last, limits = first + counts - 1, np.iinfo(np.int32)
    fits = first.size == 0 or (first.min() >= limits.min and last.max() <= limits.max)
    return Part("int32", tuple(counts.shape), first, last) if fits else None


def parts_of(observation: Space) -> dict[str, Part]:
    """The parts of an observation that ``spaces.observation_parts`` takes, by the keys of a Dict."""
    found = {key: part_of(space) for key, space in subspaces(observation).items()}
    assert all(part is not None for part in found.values())
    return found  # type: ignore[return-value]


def feature_shapes(observation: Space) -> dict[str, tuple[int, ...]]:
    """Shape of what a policy reads of each part, by the keys of a Dict."""
    return {key: part.feature_shape for key, part in parts_of(observation).items()}
