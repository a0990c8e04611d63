"""Inputs of captured updates: a seed and numbers that the host writes, and what is drawn from the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers import Program
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import lanes_for

SOURCE = Path(__file__).resolve().parent / "permutations.cu"
KERNELS = ("draw_keys", "draw_orders")
SEED_WORDS = 2
LARGEST = 2**53 - 1  # of the whole numbers that float64 holds with all their neighbours


class DeviceInputs:
    """Numbers and permutations that change from one update to the next, on the device.

    Args:
        collector: of an unsealed world.
        name: keeps the arrays apart from those of other policies.
        rows: numbers in a permutation, or that are drawn at a time.
        numbers: names of the numbers.
        passes: permutations that are drawn at a time.
    """

    def __init__(self, collector: Collector, name: str, rows: int, numbers: Sequence[str], passes: int = 1) -> None:
        self._world, self._names = collector.world, tuple(numbers)
        # arrays of this update, each under a name of its own
        arrays = {
            "dials": ("int32", SEED_WORDS + len(self._names), "seed and settings of an update"),
            "epoch": ("int64", 1, "number of the pass whose permutation is drawn"),
            "keys": ("int64", rows, "numbers that are drawn"),
            "order": ("int64", passes * rows, "permutations of the rows, pass by pass"),
        }
        aliases = {array: f"update_{array}_{name}" for array in arrays}
        for array, (dtype, size, doc) in arrays.items():
            self._world.add(Array(aliases[array], dtype, (size,), "world", initial=0, doc=doc), kept="derived")
        # the kernel that draws the order of a pass
        sizes = {"count": rows, "passes": passes}
        self._kernels = self._world.kernels(
            SOURCE, {"NUM_AGENTS": 1}, sizes, aliases={**aliases, "seed": aliases["dials"]}
        )
        lanes = lanes_for(rows // 2, self._world.num_envs)
        self._kernels.build([Kernel(name, lanes, own_env_only=False) for name in KERNELS])
        self._world.when_sealed(lambda: self._bind(aliases))

    def _bind(self, aliases: Mapping[str, str]) -> None:
        self._draw_keys, self._draw_orders = (
            self._world.program([self._kernels.step(name, index=0, own_env_only=False)]) for name in KERNELS
        )
        self._scalars, self._epoch, self._keys, self._order = (self._world[name] for name in aliases.values())

    def words(self, generator: torch.Generator, numbers: Sequence[float]) -> np.ndarray:
        """(words,) int32: a seed, drawn from the generator, and the numbers in the order of their names."""
        low, high = torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max + 1
        seed = torch.randint(low, high, (SEED_WORDS,), generator=generator, dtype=torch.int32)
        return np.concatenate((seed.numpy(), np.array(numbers, np.float32).view(np.int32)))

    def write(self, words: Tensor) -> None:
        """Write what ``words`` gave, from the host or from the device."""
        self._scalars.copy_(words)

    # ---- within an update --------------------------------------------------------------------------------------------
    def numbers(self) -> dict[str, Tensor]:
        """The numbers that the host wrote last, by name: () float32 each."""
        found = self._scalars[SEED_WORDS:].view(torch.float32)
        return dict(zip(self._names, found.unbind(), strict=True))

    def permutation(self, number: Tensor) -> Tensor:
        """(passes * rows,) int64: permutations of all rows, which belong to the seed and to numbers of passes.

        Args:
            number: of the first pass, (1,) int64; the others follow it.
        """
        return self._drawn(number, self._draw_orders, self._order)

    def uniform(self, number: Tensor) -> Tensor:
        """(rows,) float64 in [0, 1): the numbers that belong to the seed and to a pass's number, (1,) int64."""
        return (self._drawn(number, self._draw_keys, self._keys) >> 11 & LARGEST).double() / (LARGEST + 1)

    def _drawn(self, number: Tensor, draw: Program, drawn: Tensor) -> Tensor:
        self._epoch.copy_(number)
        draw()
        return drawn
