"""Who plays a group: a policy, one of the environment's scripts, or nobody, which is random actions; and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.environment import Group, Script
from warpworld.errors import DeclarationError
from warpworld.policies import Policy
from warpworld.world import World


@dataclass(frozen=True)
class Scripted:
    """A player that follows one of the environment's scripts.

    Attributes:
        name: of the script.
        script: see ``Environment.scripts``.
    """

    name: str
    script: Script

    def outputs(self, world: World, group: Group, envs: slice) -> Tensor:
        """What the script says of a range of envs: (envs, group size, outputs) float32."""
        return self.script(ArraysOfEnvs(world, envs), group)

    def check(self, world: World, group: Group, num_outputs: int) -> None:
        """Refuse what would broadcast to wrong numbers in silence; the store is sealed by now.

        Raises:
            DeclarationError: the script fails, or gives another shape or dtype than a policy of the group.
        """
        where = f"{world.environment.name}: script '{self.name}' for group '{group.name}'"
        expected = (world.num_envs, group.size, num_outputs)
        try:
            given = self.outputs(world, group, slice(None))
        except Exception as error:  # a script is a user's code and may raise anything
            raise DeclarationError(f"{where} fails: {type(error).__name__}: {error}") from error
        if not isinstance(given, Tensor) or given.shape != expected or given.dtype != torch.float32:
            what = f"{tuple(given.shape)} of {given.dtype}" if isinstance(given, Tensor) else type(given).__name__
            raise DeclarationError(f"{where} gives {what}, expected a tensor {expected} of float32")


Player = Policy | Scripted | None


class ArraysOfEnvs:
    """The store as a script sees it: arrays by name, of the envs in which it plays; those per world whole."""

    def __init__(self, world: World, envs: slice) -> None:
        self._data, self._envs = world.data, envs

    def __getitem__(self, name: str) -> Tensor:
        view: Tensor = self._data[name]
        return view if self._data.array(name).per == "world" else view[self._envs]


@dataclass(eq=False)
class Slot:
    """A contiguous range of envs in which an opponent plays some of the groups.

    Attributes:
        groups: that it plays.
        envs: where.
        player: who it is at the moment; exchanged between rollouts only.
    """

    groups: tuple[str, ...]
    envs: slice
    player: Player = None


def split_envs(slots: Sequence[Slot], num_envs: int) -> list[tuple[Slot | None, slice]]:
    """All envs as successive ranges: each slot's, and between them those that belong to none.

    Args:
        slots: that do not overlap.
        num_envs: envs of the world.
    """
    parts: list[tuple[Slot | None, slice]] = []
    first = 0
    for slot in sorted(slots, key=lambda slot: slot.envs.start):
        if slot.envs.start > first:
            parts.append((None, slice(first, slot.envs.start)))
        parts.append((slot, slot.envs))
        first = slot.envs.stop
    if first < num_envs:
        parts.append((None, slice(first, num_envs)))
    return parts
