"""Arrays of a world for NumPy: views where the store lies in host memory, else copies in host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from warpworld.environment import Group
from warpworld.world import World

if TYPE_CHECKING:
    import torch


class HostArrays:
    """Arrays that a step reads and writes, in host memory at fixed addresses.

    Args:
        world: a world with a sealed store.
    """

    def __init__(self, world: World) -> None:
        self._on_host = world.device.type == "cpu"
        self._read: list[tuple[torch.Tensor, torch.Tensor]] = []  # in host memory, in the store
        self._written: list[tuple[torch.Tensor, torch.Tensor]] = []

    def read(self, *parts: torch.Tensor) -> np.ndarray:
        """View of arrays that the world writes: parts (num_envs, agents, ...) of the store, joined along the agents."""
        return self._host(self._read, parts)

    def written(self, *parts: torch.Tensor) -> np.ndarray:
        """View of arrays that the caller writes; parts as for ``read``."""
        return self._host(self._written, parts)

    def _host(self, pairs: list[tuple[torch.Tensor, torch.Tensor]], parts: tuple[torch.Tensor, ...]) -> np.ndarray:
        import torch

        if self._on_host and len(parts) == 1:
            return parts[0].numpy()
        joined = torch.cat([part.cpu() for part in parts], 1) if len(parts) > 1 else parts[0].cpu().clone()
        pinned = joined.pin_memory() if torch.cuda.is_available() else joined
        pieces = pinned.split([part.shape[1] for part in parts], 1) if len(parts) > 1 else [pinned]
        pairs.extend(zip(pieces, parts, strict=True))
        return pinned.numpy()

    def pull(self) -> None:
        """Bring up to date what is read; the last copy waits for the device, and so for the others."""
        for count, (host, stored) in enumerate(self._read, 1):
            host.copy_(stored, non_blocking=count < len(self._read))

    def push(self) -> None:
        """Hand over what was written; it may be written again once ``pull`` was called."""
        for host, stored in self._written:
            stored.copy_(host, non_blocking=True)

    @property
    def are_views(self) -> bool:
        """Whether nothing is to be pulled or pushed."""
        return not self._read and not self._written

    def around(self, run: Callable[[], None]) -> Callable[[], None]:
        """``run``, between handing over and bringing up to date; ``run`` itself where all are views."""
        if self.are_views:
            return run

        def through() -> None:
            self.push()
            run()
            self.pull()

        return through


def parts_of(world: World, names: dict[str, str]) -> list[torch.Tensor]:
    """The parts of the store that arrays of some groups are.

    Args:
        world: a world with a sealed store.
        names: of each group, by its name, the array that holds its part.

    Returns:
        Views (num_envs, agents, ...); one of a whole array where all groups of the world share it.
    """
    if len(set(names.values())) == 1 and len(names) == len(world.groups):
        return [world[next(iter(names.values()))]]
    return [part_of(world, world.groups[group], name) for group, name in names.items()]


def part_of(world: World, group: Group, name: str) -> torch.Tensor:
    """A group's part (num_envs, size, ...) of the array ``name``, which may be of that group alone."""
    is_shared = world.data.array(name).per == "agent"
    return world[name][:, group.slice] if is_shared else world[name]
