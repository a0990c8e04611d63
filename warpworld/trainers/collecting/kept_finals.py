"""Contents of arrays when episodes were truncated, before the reset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.errors import DeclarationError
from warpworld.trainers.collecting.outcomes import ROW
from warpworld.world import World


@dataclass(frozen=True)
class _Kept:
    """Arrays that keep another array: its contents in slots, the rows these are of, and how many slots are in use."""

    contents: Array
    rows: Array
    count: Array


class KeptFinals:
    """Keeps an env's part of some arrays at each truncation in a rollout, in as many slots as can be used.

    Args:
        world: an unsealed world.
        num_steps: rows of the rollout.
    """

    def __init__(self, world: World, num_steps: int) -> None:
        self._world, self._num_steps = world, num_steps
        self._slots = world.environment.truncations(num_steps)
        self._arrays: dict[str, _Kept] = {}
        self._kept: dict[str, int] = {}  # how many were kept, by array; empty while the host does not know
        self._found: dict[str, tuple[Tensor, Tensor]] = {}  # where they are, once it was asked for

    def keep(self, name: str) -> None:
        """Keep an array, per env or per agent; a second call does nothing."""
        if name in self._arrays:
            return
        world, slots = self._world, self._slots
        array = world.data.array(name)
        part = array.full_shape(world.num_envs, world.num_agents)[1:]
        kept = _Kept(
            contents=world.add(Array(f"kept_{name}", array.dtype, (slots, *part), per="env"), kept="derived"),
            rows=world.add(Array(f"kept_{name}_row", "int32", (slots,), per="env", initial=0), kept="derived"),
            count=world.add(Array(f"kept_{name}_count", "int32", per="env", initial=0)),
        )
        world.keep_final(name, kept.contents.name, kept.rows.name, kept.count.name, ROW)
        self._arrays[name] = kept

    def begin(self) -> None:
        """Forget what was kept of the rollout before."""
        self._kept = {}
        for kept in self._arrays.values():
            self._world[kept.count].zero_()

    def measured(self) -> Sequence[Tensor]:
        """Numbers of truncations, and of those kept of each array."""
        world = self._world
        truncations = (world["rollout_truncated"] & ~world["rollout_terminated"]).sum()
        counts = (world[kept.count] for kept in self._arrays.values())
        return [truncations, *(count.clamp(max=self._slots).sum() for count in counts)]

    def take_in(self, numbers: Sequence[int]) -> None:
        """Receives what ``measured`` gave.

        Raises:
            DeclarationError: an env was truncated more often than its ``truncations()`` returns.
        """
        self._kept = dict(zip(self._arrays, numbers[1:], strict=True))
        self._found = {}
        if min(self._kept.values(), default=numbers[0]) < numbers[0]:
            raise DeclarationError(
                f"{self._world.environment.name}: an env was truncated more often in {self._num_steps} steps than the "
                f"{self._slots} times that its truncations() gives; let it return the most that are possible"
            )

    def sums(self, names: Sequence[str]) -> list[Tensor]:
        """Sums of what stands in the slots of some arrays, () float32 each; not finite where a number there is not."""
        return [self._world[self._arrays[name].contents].sum(dtype=torch.float32) for name in names]

    def of(self, name: str) -> Tensor:
        """Kept contents of an array: (k, *an env's part of it), env by env."""
        return self._world[self._arrays[name].contents][self._places(name)]

    def rows_and_envs(self, name: str) -> tuple[Tensor, Tensor]:
        """Rows and envs of the kept contents: (k,) int64 each."""
        env, slot = self._places(name)
        return self._world[self._arrays[name].rows][env, slot].long(), env

    def _places(self, name: str) -> tuple[Tensor, Tensor]:
        """Env and slot of each final entry that was kept of an array: two tensors (k,) int64."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> tuple[Tensor, Tensor]:
        world, count, used = self._world, self._kept[name], self._used(name)
        # where the first, second, ... of them lies: nonzero() would wait for the device to say how many there are
        place = torch.searchsorted(used.flatten().cumsum(0), torch.arange(1, count + 1, device=world.device))
        return place // self._slots, place % self._slots

    def _used(self, name: str) -> Tensor:
        """Flags of the slots that hold something of the rollout: (num_envs, slots) bool."""
        slots = torch.arange(self._slots, device=self._world.device)
        return slots < self._world[self._arrays[name].count][:, None]


class AllSlots(KeptFinals):
    """Gives all slots, where CUDA graphs are captured, whose shapes never change; arguments as of ``KeptFinals``.

    Of slots that are not in use the row is the one behind the last.
    """

    def of(self, name: str) -> Tensor:
        """Contents of all slots."""
        return self._world[self._arrays[name].contents].flatten(0, 1)

    def rows_and_envs(self, name: str) -> tuple[Tensor, Tensor]:
        """Rows and envs of all slots: (k,) int64 each."""
        slots, envs = self._numbers
        unused = slots >= self._world[self._arrays[name].count][:, None]
        return self._world[self._arrays[name].rows].masked_fill(unused, self._num_steps).flatten().long(), envs

    @cached_property
    def _numbers(self) -> tuple[Tensor, Tensor]:
        """Numbers of an env's slots, and of the env of each slot, which no graph makes again."""
        slots, envs = (torch.arange(count, device=self._world.device) for count in (self._slots, self._world.num_envs))
        return slots, envs.repeat_interleave(self._slots)


def choose_finals(world: World, num_steps: int) -> KeptFinals:
    """Keeper of final observations on the world's device; arguments as of ``KeptFinals``."""
    return AllSlots(world, num_steps) if world.captures else KeptFinals(world, num_steps)
