"""Masks of actions in the form that Gymnasium's ``space.sample(mask)`` takes, which differs from space to space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from warpworld.environment import choice_heads


def space_mask(space: Space, row: np.ndarray) -> Any:
    """Mask of one agent's actions, in the form of their space.

    Args:
        space: of its actions.
        row: of the array ``action_mask``, bool: the choices of all heads, one head behind the other.

    Returns:
        Of a Discrete space (choices,) int8; of a MultiDiscrete one a tuple of such, nested as its numbers are; of a
        MultiBinary one its flags' values, 2 where both may be taken; of a Dict or Tuple one of
        its parts' masks; None where there is nothing to choose.
    """
    heads = choice_heads(space)
    if isinstance(space, Dict):
        return dict(zip(space.spaces, _masks_of(space.spaces.values(), row), strict=True))
    if isinstance(space, Tuple):
        return tuple(_masks_of(space.spaces, row))
    allowed = row[: sum(heads)].astype(np.int8)
    if isinstance(space, Discrete):
        return allowed
    if isinstance(space, MultiDiscrete):
        parts: list[Any] = np.split(allowed, np.cumsum(heads)[:-1])
        for size in reversed(space.nvec.shape[1:]):
            parts = [tuple(parts[first : first + size]) for first in range(0, len(parts), size)]
        return tuple(parts)
    if isinstance(space, MultiBinary):
        pairs = allowed.reshape(*space.shape, 2)
        return np.where(pairs.all(-1), np.int8(2), pairs[..., 1])
    return None


def _masks_of(parts: Iterable[Space], row: np.ndarray) -> Iterator[Any]:
    """Masks of parts whose choices lie one behind the other in a row."""
    first = 0
    for part in parts:
        yield space_mask(part, row[first:])
        first += sum(choice_heads(part))
