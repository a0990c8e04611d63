"""Numbers that a library hands over, which the store must hold as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiBinary, Space

from warpworld.environment import part_of

_WHOLE_IN_FLOAT32 = 2**24


def is_of_numbers(space: Space) -> bool:
    """Whether ``lost_number`` knows the numbers of a space."""
    return isinstance(space, Box) or part_of(space) is not None


def lost_number(values: np.ndarray, stored: Space) -> tuple[int, str] | None:
    """The first number that the store would change, with what it can hold; None if there is none.

    Floats may be rounded to the store's floats, within their range. Whole numbers, choices and truth values are exact.

    Args:
        values: (..., *shape), numbers.
        stored: the space as the store holds it.

    Returns:
        Its index in the first axis, and a text.
    """
    # floats, which may be rounded
    if isinstance(stored, Box) and stored.dtype.kind == "f":
        return _of_float(values, stored.dtype)
    # values that the store holds as they are
    if values.dtype == stored.dtype and isinstance(stored, Box):
        return None
    if values.dtype == np.bool_ and isinstance(stored, MultiBinary):
        return None
    # whole numbers, within the range of the space
    if isinstance(stored, Box):
        limits = np.iinfo(stored.dtype) if stored.dtype.kind in "iu" else None
        low: Any = 0 if limits is None else limits.min  # of truth values
        high: Any = 1 if limits is None else limits.max
    else:
        part = part_of(stored)
        assert part is not None
        low, high = part.low.reshape(stored.shape or ()), part.high.reshape(stored.shape or ())
    is_lost = ~((values >= low) & (values <= high))  # NaN too
    if values.dtype.kind == "f":
        is_lost |= values != np.rint(values)
    return _first(values, is_lost, f"whole numbers from {np.min(low):d} to {np.max(high):d}")


def _of_float(values: np.ndarray, dtype: Any) -> tuple[int, str] | None:
    """The first whole number that a float rounds, or float that becomes infinite."""
    if np.can_cast(values.dtype, dtype) or not values.size:
        return None
    # wider floats, which may become infinite
    if values.dtype.kind == "f":
        if values.dtype.itemsize <= dtype.itemsize or not np.abs(values).max() > np.finfo(dtype).max:
            return None
        is_lost = np.isfinite(values) & (np.abs(values) > np.finfo(dtype).max)
        return _first(values, is_lost, f"numbers within the range of {dtype}")
    # whole numbers, which may be rounded
    if dtype == np.float32 and values.min() >= -_WHOLE_IN_FLOAT32 and values.max() <= _WHOLE_IN_FLOAT32:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(dtype)
        limits = np.iinfo(values.dtype)
        fits = (rounded >= limits.min) & (rounded < float(limits.max))
        is_lost = np.where(fits, rounded, 0).astype(values.dtype) != values
    return _first(values, is_lost, f"whole numbers that {dtype}, in which the store holds them, does not round")


def _first(values: np.ndarray, is_lost: Any, expected: str) -> tuple[int, str] | None:
    if not np.any(is_lost):
        return None
    place = tuple(np.argwhere(np.atleast_1d(is_lost))[0])
    return int(place[0]), f"{np.atleast_1d(values)[place]!s}, expected {expected}"
