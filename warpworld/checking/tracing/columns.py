"""The columns of a trace: from an env's arrays to cells of text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from warpworld.environment import Array, Group, action_arrays, group_suffix, observation_arrays, observation_names
from warpworld.world import World

LEADING = ("step", "episode", "event", "agent", "group")


@dataclass(frozen=True)
class Source:
    """An array that a trace shows.

    Attributes:
        array: its declaration.
        group: the group whose agents it holds, if it is one group's own.
        of_steps: whether it says nothing about an episode that has just begun.
    """

    array: Array
    group: Group | None
    of_steps: bool

    @property
    def per_agent(self) -> bool:
        """Whether each agent has a part of its own."""
        return self.array.per == "agent" or self.group is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of what stands in one row."""
        return self.array.shape[1:] if self.group is not None else self.array.shape

    def names(self, taken: Iterable[str]) -> list[str]:
        """Names of its columns: ``x``, ``velocity[0]``, ``grid[1][2]``; with a ``_`` behind where a name is taken."""
        base, known = self.array.name, set(taken)
        while base in known:
            base += "_"
        places = itertools.product(*(range(size) for size in self.shape))
        return [base + "".join(f"[{i}]" for i in place) for place in places]

    def rows(self, values: np.ndarray | None, num_agents: int) -> list[list[str]]:
        """Text for each agent's row; empty where the agent has no part in the array.

        Args:
            values: the env's part of the array, or all of an array per world; None where there is nothing to say.
            num_agents: of the env.
        """
        empty = [""] * math.prod(self.shape)
        if values is None:
            return [empty] * num_agents
        if not self.per_agent:
            return [text(values)] * num_agents
        numbers = range(num_agents) if self.group is None else self.group.numbers
        return [text(values[numbers.index(i)]) if i in numbers else empty for i in range(num_agents)]


def sources(world: World, arrays: Iterable[Array]) -> list[Source]:
    """Columns that a trace shows of these arrays of a world."""
    owners, of_steps = _owners(world), {"rewards", "terminated", "truncated", "agent_terminated", "agent_truncated"}
    for observed in observation_arrays(world.groups):
        of_steps.add(f"final_{observed.name}")
        if observed.name in owners:
            owners[f"final_{observed.name}"] = owners[observed.name]
    of_steps |= {action.name for action in action_arrays(world.groups)}
    return [Source(array, owners.get(array.name), array.name in of_steps) for array in arrays]


def _owners(world: World) -> dict[str, Group]:
    """The group of each array that holds the agents of one group only."""
    owners: dict[str, Group] = {}
    for group in world.groups.values():
        if group_suffix(world.groups, group, "observations"):
            owners |= dict.fromkeys(observation_names(world.groups, group).values(), group)
        if group_suffix(world.groups, group, "actions"):
            owners[world.action_array(group.name)[0]] = group
    return owners


def header(shown: Sequence[Source]) -> list[str]:
    """Names of all columns, in order."""
    names = list(LEADING)
    for source in shown:
        names += source.names(names)
    return names


def text(values: np.ndarray) -> list[str]:
    """Numbers as text: floats as the shortest that reads back as the same float of their dtype, bools as 0 and 1."""
    flat = np.ravel(values)
    return [str(value) for value in (flat.astype(np.uint8) if flat.dtype == np.bool_ else flat)]
