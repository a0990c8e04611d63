"""Indices of envs that a call names, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from warpworld.errors import StoreError

Envs = Sequence[int] | slice


def env_indices(name: str, envs: Envs, num_envs: int) -> np.ndarray:
    """The indices of some envs: (envs,) int64, in host memory.

    Args:
        name: what errors call them.
        envs: a slice, or whole numbers in a sequence, an array or a tensor on any device.
        num_envs: envs of the world.

    Raises:
        StoreError: they are no indices, or one is out of range.
    """
    if isinstance(envs, slice):
        envs = range(num_envs)[envs]
    if isinstance(envs, range):
        ends = (min(envs[0], envs[-1]), max(envs[0], envs[-1])) if envs else (0, 0)  # quicker than to look at all
        chosen = np.arange(envs.start, envs.stop, envs.step)
    else:
        chosen = _numbers(name, envs) if hasattr(envs, "dtype") else np.fromiter(envs, np.int64, len(envs))
        ends = (chosen.min(), chosen.max()) if len(chosen) else (0, 0)
    if ends[0] < 0 or ends[1] >= num_envs:
        wrong = chosen[(chosen < 0) | (chosen >= num_envs)][0]
        raise StoreError(f"{name}: {wrong} is not one of this world's envs, which are 0 to {num_envs - 1}")
    return chosen


def last_of_each(chosen: np.ndarray, envs: Envs) -> np.ndarray | None:
    """Places of the last mention of each env; None if each is named once.

    Args:
        chosen: the indices of ``envs``.
        envs: as they were given.
    """
    if isinstance(envs, (slice, range)) or not len(chosen) or np.bincount(chosen).max() == 1:
        return None
    last, places = np.empty(chosen.max() + 1, np.int64), np.arange(len(chosen))
    last[chosen] = places
    return np.flatnonzero(last[chosen] == places)


def have_common(one: np.ndarray, other: np.ndarray, num_envs: int) -> bool:
    """Whether an env is among both."""
    if len(one) == 1:
        return bool((other == one).any())
    is_in_other = np.zeros(num_envs, np.bool_)
    is_in_other[other] = True
    return bool(is_in_other[one].any())


def _numbers(name: str, envs: Any) -> np.ndarray:
    """Indices in an array or a tensor."""
    given = np.asarray(envs.cpu() if hasattr(envs, "cpu") else envs)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise StoreError(f"{name}: shape {given.shape} {given.dtype}, expected a row of indices, whole numbers")
    return given.astype(np.int64)
