"""Indices of envs that a call names, checked, and on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.errors import StoreError

if TYPE_CHECKING:
    import torch

Envs = Sequence[int] | slice


@dataclass(slots=True)
class EnvSelection:
    """Envs that a call names.

    Attributes:
        count: of them.
        address: of their indices on the device, int64.
        given: the indices, in host memory; a range has steps of one.
        kept: memory at the address, if it is this object's own.
    """

    count: int
    address: int
    given: range | np.ndarray
    kept: torch.Tensor | None = None

    @property
    def indices(self) -> np.ndarray:
        """The indices: (count,) int64."""
        return np.arange(self.given.start, self.given.stop) if isinstance(self.given, range) else self.given

    def overlaps(self, other: EnvSelection, num_envs: int) -> bool:
        """Whether an env is among both."""
        one, another = self.given, other.given
        if isinstance(one, range) and isinstance(another, range):
            return max(one.start, another.start) < min(one.stop, another.stop)
        return have_common(self.indices, other.indices, num_envs)


class EnvIndices:
    """Finds the envs that calls name. The indices of all envs lie ready, so that neighbours cost no memory and no copy.

    Args:
        num_envs: envs of the world.
        device: of its store.
    """

    def __init__(self, num_envs: int, device: torch.device) -> None:
        import torch

        self._all, self._device = range(num_envs), device
        self._indices = torch.arange(num_envs, dtype=torch.int64, device=device)
        self._address, self._from_numpy = self._indices.data_ptr(), torch.from_numpy

    def chosen(self, name: str, envs: Envs) -> EnvSelection:
        """The envs that a call names.

        Args:
            name: what errors call them.
            envs: a slice, or as of ``env_indices``.

        Raises:
            StoreError: they are no indices, or one is out of range.
        """
        if type(envs) is slice:
            envs = self._all[envs]
        if type(envs) is range and envs.step == 1 and 0 <= envs.start <= envs.stop <= len(self._all):
            return EnvSelection(envs.stop - envs.start, self._address + 8 * envs.start, envs)
        return self.of_indices(env_indices(name, envs, len(self._all)))

    def of_indices(self, indices: np.ndarray) -> EnvSelection:
        """Envs by their indices, (envs,) int64, which are checked already."""
        kept = self._from_numpy(indices).to(self._device)
        return EnvSelection(len(indices), kept.data_ptr(), indices, kept)


def env_indices(name: str, envs: Sequence[int], num_envs: int) -> np.ndarray:
    """The indices of some envs: (envs,) int64, in host memory.

    Args:
        name: what errors call them.
        envs: whole numbers in a sequence, an array or a tensor on any device.
        num_envs: envs of the world.

    Raises:
        StoreError: they are no indices, or one is out of range.
    """
    if isinstance(envs, range):
        ends = (min(envs[0], envs[-1]), max(envs[0], envs[-1])) if envs else (0, 0)  # quicker than to look at all
        chosen = np.arange(envs.start, envs.stop, envs.step)
    else:
        chosen = _whole_numbers(name, envs) if hasattr(envs, "dtype") else np.fromiter(envs, np.int64, len(envs))
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


def _whole_numbers(name: str, envs: Any) -> np.ndarray:
    """Indices in an array or a tensor."""
    given = np.asarray(envs.cpu() if hasattr(envs, "cpu") else envs)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise StoreError(f"{name}: shape {given.shape} {given.dtype}, expected a row of indices, whole numbers")
    return given.astype(np.int64)
