"""Actions of a library's own space, where the store holds numbers of another dtype."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box, Space


def stored_action(space: Space) -> Space:
    """The space of which the store holds the actions of another one: for a Box, a Box of float32.

    Bounds of floats are rounded inwards, so that no float32 lies beyond them; those that float32 cannot hold are
    infinite. A Box of whole numbers is wider by 1/2 at either end: rounded to the nearest, each number, the ends
    included, has an equal share of it. Any other space is returned as it is.
    """
    if not isinstance(space, Box) or space.dtype == np.float32:
        return space
    if is_whole(space):
        low, high = (
            (bound.astype(np.float64) + half).astype(np.float32)
            for bound, half in ((space.low, -0.5), (space.high, 0.5))
        )
    else:
        low, high = _float32(space.low, np.inf), _float32(space.high, -np.inf)
    empty = low > high  # no float32 lies between
    with np.errstate(over="ignore"):
        middle = space.low.astype(np.float32)
    return Box(np.where(empty, middle, low), np.where(empty, middle, high), dtype=np.float32)


def _float32(bound: np.ndarray, towards: float) -> np.ndarray:
    """A bound in float32, rounded towards the inside; infinite beyond what float32 holds."""
    with np.errstate(over="ignore"):
        rounded = bound.astype(np.float32)
    exact = bound.astype(np.float64)
    is_beyond = rounded.astype(np.float64) < exact if towards > 0 else rounded.astype(np.float64) > exact
    return np.where(is_beyond & np.isfinite(rounded), np.nextafter(rounded, np.float32(towards)), rounded)


def is_whole(space: Box) -> bool:
    """Whether a Box holds whole numbers, or truth values."""
    return space.dtype.kind in "iub"


def library_actions(space: Box, values: np.ndarray) -> np.ndarray:
    """Actions of a Box, (n, *shape) of its dtype and within its bounds, from the store's numbers in that shape.

    Whole numbers are the nearest to those of the store, the even one of two that are equally near.
    """
    exact, low, high = (numbers.astype(np.float64) for numbers in (values, space.low, space.high))
    if not is_whole(space):
        return np.clip(exact, low, high).astype(space.dtype)
    nearest = np.rint(exact)
    is_low, is_high = ~(nearest > low), nearest >= high  # NaN is low
    inner = np.where(is_low | is_high, 0.0, nearest).astype(space.dtype)
    return np.where(is_high, space.high, np.where(is_low, space.low, inner))
