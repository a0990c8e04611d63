"""Players of a group, and their envs: a policy, one of the environment's scripts, or None, which acts at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from warpworld.config import LearnerConfig, RandomConfig, ScriptConfig
from warpworld.environment import Environment, Group, Kernel, Script, script_kernel
from warpworld.errors import DeclarationError, StoreError
from warpworld.policies import AT_RANDOM, Policy, RememberingPolicy
from warpworld.trainers.collecting.memory import Memory
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

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that the script is; None of a function."""
        return script_kernel(self.script)

    @staticmethod
    def players_array(group: Group) -> str:
        """Name of the array with the number of the kernel that plays a group in each env."""
        return f"script_players_{group.name}"

    @classmethod
    def played(cls, group: Group, number: int, num_outputs: int) -> dict[str, str | int]:
        """Fields of ``Played`` in script.cuh, for a kernel with its number among those that play a group."""
        return {
            **{"script_players": cls.players_array(group), "script_outputs": outputs_array(group.name)},
            **{"script_number": number, "script_width": num_outputs, "script_agents": group.size},
            **{"script_first": group.first, "script_stride": group.stride},
        }

    def outputs(self, world: World, group: Group, envs: slice) -> Tensor:
        """The outputs of a script that is a function, for a range of envs: (envs, group size, outputs) float32."""
        assert callable(self.script)
        return self.script(ArraysOfEnvs(world, envs), group)

    def check(self, world: World, group: Group, num_outputs: int) -> None:
        """Refuse what would broadcast to wrong numbers in silence; the store is sealed by now.

        Raises:
            DeclarationError: the script fails, or gives another shape or dtype than a policy of the group.
            BindError: a parameter of its kernel fits nothing.
        """
        if self.kernel is not None:
            world.script_step(self.kernel, self.played(group, 0, num_outputs))
            return
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


def player_of(policy: Player, entry: LearnerConfig | RandomConfig | ScriptConfig, environment: Environment) -> Player:
    """Player of a policy's groups: the policy, or where there is none the script of its entry, or random actions."""
    if policy is None and isinstance(entry, ScriptConfig):
        return Scripted(entry.script, environment.scripts()[entry.script])
    return policy


def outputs_array(group: str) -> str:
    """Name of the array with the outputs that a group's actions are drawn from."""
    return f"policy_outputs_{group}"


def needs_torch(player: Player) -> bool:
    """Whether a player's outputs are torch's."""
    return player is not None and kernel_of(player) is None


def kernel_of(player: Player) -> Kernel | None:
    """The kernel that a player is; None of all others."""
    return player.kernel if isinstance(player, Scripted) else None


class ArraysOfEnvs:
    """The store as a script sees it: arrays by name, of the envs in which it plays; those per world whole."""

    def __init__(self, world: World, envs: slice) -> None:
        self._data, self._envs = world.data, envs

    def __getitem__(self, name: str) -> Tensor:
        view: Tensor = self._data[name]
        return view if self._data.array(name).per == "world" else view[self._envs]


# ---- deciding --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Seen:
    """Inputs of a player's decision: a group in a range of envs.

    Attributes:
        world: whose envs.
        group: the agents.
        envs: the range.
        observations: (envs, size, entries), rows: float32, or uint8 where they are of bytes.
        memory: of the group, where its first policy is recurrent; else None.
    """

    world: World
    group: Group
    envs: slice
    observations: Tensor
    memory: Memory | None


@singledispatch
def decide(player: Any, seen: Seen, outputs: Tensor) -> None:
    """Write a player's outputs: a policy's, unless its kind of player has registered a way of its own.

    Args:
        player: who decides.
        seen: what it decides on.
        outputs: (envs, size, num_outputs) float32, written to.
    """
    outputs.copy_(player.outputs(seen.observations))


@decide.register
def _(player: Scripted, seen: Seen, outputs: Tensor) -> None:
    outputs.copy_(player.outputs(seen.world, seen.group, seen.envs))


@decide.register
def _(player: RememberingPolicy, seen: Seen, outputs: Tensor) -> None:
    memory = seen.memory
    if memory is None or memory.state_size != player.state_size:
        has = "none" if memory is None else f"states of {memory.state_size} numbers"
        raise StoreError(
            f"group '{seen.group.name}': the policy has states of {player.state_size} numbers, but the store has "
            f"{has}; make the Actor with a policy of that size"
        )
    outputs.copy_(memory.outputs(player, seen.observations, seen.envs))


def distribution_of(player: Player) -> Any:
    """The part of a player that a sampler takes besides outputs: a distribution, None of a script, or ``AT_RANDOM``."""
    return AT_RANDOM if player is None else getattr(player, "distribution", None)


# ---- where -----------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class Slot:
    """A contiguous range of envs in which another player than the policy itself plays some of its groups.

    Attributes:
        groups: that it plays.
        envs: where.
        player: who it is at the moment; exchanged between rollouts only.
        is_member: whether it is a member of the policy's population, which learns from what it does; else an opponent.
    """

    groups: tuple[str, ...]
    envs: slice
    player: Player = None
    is_member: bool = False


def opponents_of(slots: Sequence[Slot]) -> list[Slot]:
    """The slots in which opponents play, from whom the policy does not learn."""
    return [slot for slot in slots if not slot.is_member]


def own_agents(world: World, slots: Sequence[Slot]) -> Tensor:
    """(num_envs, num_agents) float64 on the world's device: 0 for agents that an opponent plays, else 1."""
    own = torch.ones(world.num_envs, world.num_agents, dtype=torch.float64)
    for slot in opponents_of(slots):
        for group in slot.groups:
            own[slot.envs, world.groups[group].slice] = 0.0
    return own.to(world.device)


def split_envs(slots: Sequence[Slot], num_envs: int) -> list[tuple[Slot | None, slice]]:
    """Split all envs into successive ranges: one for each slot, and between them those that belong to none.

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


def cut_at(envs: slice, parts: Sequence[slice]) -> list[slice]:
    """A range of envs, cut where parts of the envs begin; whole where there are no parts."""
    if not parts:
        return [envs]
    pieces = [slice(max(envs.start, part.start), min(envs.stop, part.stop)) for part in parts]
    return [piece for piece in pieces if piece.start < piece.stop]
