"""Random numbers that follow from whole numbers of each env: the same, whichever envs stand beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MIX = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))


def random_numbers(numbers: Sequence[np.ndarray], count: int) -> np.ndarray:
    """Numbers between 0 and 1, (num_envs, count) float64, that follow from whole numbers of each env, (num_envs,)."""
    mixed = np.zeros((len(numbers[0]), 1), np.uint64)
    with np.errstate(over="ignore"):
        for part in (*(each[:, None] for each in numbers), np.arange(count)):
            mixed = _mixed(mixed + part.astype(np.uint64))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Steele et al. 2014, "Fast splittable pseudorandom number generators": the function of SplitMix64."""
    numbers = numbers + _MIX[0]
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX[1]
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX[2]
    return numbers ^ (numbers >> np.uint64(31))
