"""The agents of one policy, in the order in which a replay stores them: those of its first group first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from warpworld.environment import Group, action_heads, action_layout, observation_names
from warpworld.managers import Agents, Copy
from warpworld.policies import ObservationRows
from warpworld.trainers.collecting import Actor, Slot
from warpworld.world import World


class PolicyAgents:
    """The agents of a policy's groups, which have the same spaces.

    Attributes:
        name: of the first group; it keeps one policy's arrays apart from another's.
        groups: in their order.
        size: agents of an env.
        rows: how one agent's observation lies in a row.
        action_dtype: "int32" or "float32".
        action_size: numbers in one agent's action.
        num_choices: of all heads; 0 where actions lie in a Box.

    Args:
        world: an unsealed world.
        groups: names of the groups.
    """

    def __init__(self, world: World, groups: Sequence[str]) -> None:
        self.world, self.name = world, groups[0]
        self.groups = [world.groups[name] for name in groups]
        *self._firsts, self.size = accumulate((group.size for group in self.groups), initial=0)
        self.rows = ObservationRows(self.groups[0].observation)
        self.action_dtype, self.action_size = action_layout(self.groups[0].action)
        self.num_choices = sum(action_heads(self.groups[0].action))

    def array(self, what: str) -> str:
        """Name of these agents' array of some kind."""
        return f"replay_{what}_{self.name}"

    def owns(self, array: str) -> bool:
        """Whether an array is one of these agents'."""
        return array.startswith("replay_") and array.endswith(f"_{self.name}")

    def first(self, group: str) -> int:
        """Place of a group's first agent among them."""
        return next(first for first, each in zip(self._firsts, self.groups, strict=True) if each.name == group)

    # ---- copies into rows --------------------------------------------------------------------------------------------
    def copies(self, source: str, target: str, row: str) -> list[Copy]:
        """Copies of these agents' part of an array per agent into one of its own, (rows, num_envs, size, ...)."""
        return [
            Copy(source, target, row=row, agents=agents)
            for group, first in zip(self.groups, self._firsts, strict=True)
            for agents in _side_by_side(group, first)
        ]

    def copies_of_observations(self, actors: Sequence[Actor], target: str, row: str) -> list[Copy]:
        """Copies of what each group's actor sees."""
        contexts = [(actor.sampler.context, first) for actor, first in zip(actors, self._firsts, strict=True)]
        return [
            Copy(
                context.observations, target, row=row, agents=Agents(context.first_observed, first, context.group.size)
            )
            for context, first in contexts
        ]

    def copies_of_actions(self, target: str, row: str) -> list[Copy]:
        """Copies of what each group does."""
        placed = [(self.world.action_array(group.name), group) for group in self.groups]
        return [
            Copy(array, target, row=row, agents=Agents(place, first, group.size))
            for ((array, place), group), first in zip(placed, self._firsts, strict=True)
        ]

    @property
    def sees_rows(self) -> bool:
        """Whether what an agent sees is a row as it stands in the store."""
        names = [observation_names(self.world.groups, group) for group in self.groups]
        return all(list(name) == [""] and self.world.data.array(name[""]).dtype == self.rows.dtype for name in names)

    def copies_of_last(self, target: str, row: str) -> list[Copy]:
        """Copies of what the agents saw last in envs that have just ended, where that is a row."""
        found = []
        for group in self.groups:
            name = observation_names(self.world.groups, group)[""]
            first = 0 if name != "observations" else group.first
            agents = Agents(first, self.first(group.name), group.size)
            found.append(Copy(f"final_{name}", target, row=row, agents=agents))
        return found

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def played(self, slots: Sequence[Slot]) -> Tensor:
        """(num_envs, size) bool on the world's device: False where an opponent plays."""
        own = torch.ones(self.world.num_envs, self.size, dtype=torch.bool)
        for slot in slots:
            for group in self.groups:
                if group.name in slot.groups:
                    own[slot.envs, self.agents(group)] = False
        return own.to(self.world.device)

    def join_last(self, out: Tensor) -> None:
        """Write what the agents saw last in envs that have just ended, (num_envs, size, entries), rows."""
        for group in self.groups:
            names = observation_names(self.world.groups, group).values()
            parts = [self._of(group, f"final_{name}").flatten(2) for name in names]
            self.rows.join(parts, out=out[:, self.agents(group)])

    def agents(self, group: Group) -> slice:
        """Places of a group's agents among them."""
        first = self.first(group.name)
        return slice(first, first + group.size)

    def _of(self, group: Group, array: str) -> Tensor:
        """A group's agents in an array of all agents or of its own."""
        whole = self.world[array]
        return whole if whole.shape[1] == group.size else whole[:, group.slice]


def _side_by_side(group: Group, target: int) -> list[Agents]:
    """A group's agents in an array of all agents, in parts that lie side by side, and where they are copied to."""
    if group.stride == 1:
        return [Agents(group.first, target, group.size)]
    return [Agents(number, target + place, 1) for place, number in enumerate(group.numbers)]
