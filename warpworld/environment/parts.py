"""The parts of an observation: how each lies in the store, what a policy makes of it, and lists of entities in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld.errors import DeclarationError

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


# ---- lists of entities -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class EntityList:
    """Numbers of an observation that describe entities of one kind, row by row.

    Attributes:
        name: of the kind, such as "boxes".
        first: the number of the observation with which the first row begins.
        rows: entities; at least 1.
        features: numbers of a row; at least 1.
        mask: the number of a row that says whether the entity is there: above 0.5 it is. None: all are.
    """

    name: str
    first: int
    rows: int
    features: int
    mask: int | None = 0

    @property
    def end(self) -> int:
        """The number of the observation that follows the last row."""
        return self.first + self.rows * self.features


class EntityBox(Box):
    """A Box of float32 in one dimension, parts of which are lists of entities.

    Stores, networks and other libraries read it as the Box that it is. The model "entities" reads the lists.

    Attributes:
        lists: in the order in which they lie.
    """

    def __init__(self, low: float, high: float, size: int, lists: Sequence[EntityList]) -> None:
        """Declare the lists.

        Args:
            low: the least legal value of all numbers.
            high: the greatest.
            size: numbers in the observation.
            lists: see ``EntityList``; in order, at least one. Numbers in none of them are about the agent itself.

        Raises:
            DeclarationError: there is no list, or no number that is in none; a list has no number, or a mask outside
                its row; it begins before the one in front of it has ended, or ends beyond the observation.
        """
        super().__init__(low, high, (size,), np.float32)
        self.lists = tuple(lists)
        if not self.lists:
            raise DeclarationError("lists is empty, expected at least one EntityList; declare a Box instead")
        free = 0  # the first number that is in no list yet
        for each in self.lists:
            _check(each, free, size)
            free = each.end
        if sum(each.rows * each.features for each in self.lists) == size:
            raise DeclarationError("lists hold all numbers of the observation, expected some about the agent itself")


def _check(each: EntityList, free: int, size: int) -> None:
    """Refuse a list that has no place between the number ``free`` and the end of an observation of ``size`` numbers."""
    where = f"entity list '{each.name}'"
    if each.rows < 1 or each.features < 1:
        raise DeclarationError(f"{where}: {each.rows} rows of {each.features} features, expected at least 1 of each")
    if each.first < free:
        raise DeclarationError(f"{where} begins at number {each.first}, expected {free} or more: lists lie in order")
    if each.end > size:
        raise DeclarationError(f"{where} ends at number {each.end}, but the observation has {size} numbers")
    if each.mask is not None and not 0 <= each.mask < each.features:
        raise DeclarationError(
            f"{where}: mask {each.mask}, expected a number of a row, 0 to {each.features - 1}, or None"
        )
