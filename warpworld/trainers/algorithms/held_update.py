"""An on-policy update that a CUDA graph can hold: what changes from one to the next lies on the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.replay.priorities import lanes_for

SOURCE = Path(__file__).resolve().parents[2] / "cuda" / "orders.cu"
SEED_WORDS = 2


class HeldUpdate:
    """A seed and some numbers that the host writes before each update, in one copy, and orders drawn from the seed.

    Args:
        collector: of an unsealed world.
        name: keeps the arrays apart from those of other policies.
        epochs: orders in an update.
        rows: numbers in an order.
        numbers: names of the numbers.
    """

    def __init__(self, collector: Collector, name: str, epochs: int, rows: int, numbers: Sequence[str]) -> None:
        self._collector, self._world = collector, collector.world
        self._shape, self._names = (epochs, rows), tuple(numbers)
        self._run: Callable[[], None] | None = None
        self._dials = f"update_dials_{name}"
        self._order_keys = f"order_keys_{name}"
        count, world = epochs * rows, self._world
        words = (SEED_WORDS + len(self._names),)
        dials = Array(self._dials, "int32", words, "world", initial=0, doc="seed and settings of an update")
        order_keys = Array(self._order_keys, "int64", (count,), "world", initial=0, doc="rows are ordered by them")
        for array in (dials, order_keys):
            world.add(array, kept="scratch")
        aliases = {"seed": self._dials, "keys": self._order_keys}
        self._kernels = world.kernels(SOURCE, {"NUM_AGENTS": 1, "COUNT": count}, aliases=aliases)
        self._kernels.build([Kernel("draw_keys", lanes_for(count // 2, world.num_envs), own_env_only=False)])
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        self._draw = self._world.program([self._kernels.step("draw_keys", index=0, own_env_only=False)])
        self._keys = self._world[self._order_keys].view(self._shape)

    # ---- on the host -------------------------------------------------------------------------------------------------
    def turn(self, generator: torch.Generator, numbers: Sequence[float]) -> None:
        """Write a seed, drawn from the generator, and the numbers in the order of their names."""
        low, high = torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max + 1
        seed = torch.randint(low, high, (SEED_WORDS,), generator=generator, dtype=torch.int32)
        words = np.concatenate((seed.numpy(), np.array(numbers, np.float32).view(np.int32)))
        self._world[self._dials].copy_(torch.from_numpy(words))

    def run(self, update: Callable[[], None], written: Callable[[], Sequence[Tensor]], captured: bool) -> None:
        """Do the update; as a graph from the second time on.

        Args:
            update: the same in each call.
            written: gives all tensors that it writes, besides arrays of the store.
            captured: whether a graph is wanted.
        """
        if self._run is None:
            self._run = self._world.capture_update(update, written()) if captured else update
        self._run()

    def forget(self) -> None:
        """Capture again at the next update: what it writes lies elsewhere."""
        self._run = None

    # ---- within an update --------------------------------------------------------------------------------------------
    def numbers(self) -> dict[str, Tensor]:
        """The numbers that the host wrote last, by name: () float32 each."""
        found = self._world[self._dials][SEED_WORDS:].view(torch.float32)
        return dict(zip(self._names, found.unbind(), strict=True))

    def orders(self) -> Tensor:
        """(epochs, rows) int64: of each epoch all rows in an order that belongs to the seed."""
        self._draw()
        return self._keys.argsort(1)
