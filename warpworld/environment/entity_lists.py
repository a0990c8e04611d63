"""Lists of entities within an observation: declared beside its bounds, for networks that attend to entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box

from warpworld.errors import DeclarationError


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
