"""The columns of a trace: from an env's arrays to cells of text, with the names of actions behind their numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from warpworld.environment import (
    Array,
    Group,
    action_arrays,
    group_suffix,
    names_of_choices,
    observation_arrays,
    observation_names,
)
from warpworld.world import World

LEADING = ("step", "episode", "event", "agent", "group")


class Shown(Protocol):
    """Part of a trace that is made of one array.

    Attributes:
        array: declaration of the array.
        name: of the part.
        of_steps: whether it says nothing about an episode that has just begun.
    """

    @property
    def array(self) -> Array:
        """Declaration of the array."""

    @property
    def name(self) -> str:
        """Name of the part."""

    @property
    def of_steps(self) -> bool:
        """Whether the part says nothing about an episode that has just begun."""

    def names(self, taken: Iterable[str]) -> list[str]:
        """Names of its columns, none of which is taken."""

    def rows(self, values: np.ndarray | None, num_agents: int) -> list[list[str]]:
        """Text for each agent's row; ``values`` are the env's part of the array, None where there is nothing to say."""

    def event(self, values: np.ndarray, is_blank: bool) -> np.ndarray:
        """Entry of an archive; ``is_blank`` where there is nothing to say."""


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
    def name(self) -> str:
        """Name of the array."""
        return self.array.name

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
        base = _free(self.name, set(taken))
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

    def event(self, values: np.ndarray, is_blank: bool) -> np.ndarray:
        """Copy of the numbers; zeros where there is nothing to say."""
        return np.zeros_like(values) if is_blank else values.copy()


@dataclass(frozen=True)
class ActionNames:
    """Names of the actions in an array, behind the array's own columns.

    Attributes:
        array: declaration of the array of actions.
        agents: names by head and choice of each agent that the array holds, by the agent's number.
        of_steps: True.
    """

    array: Array
    agents: Mapping[int, Sequence[Sequence[str]]]
    of_steps: bool = True

    @property
    def name(self) -> str:
        """Name of the array with "_name" behind it."""
        return f"{self.array.name}_name"

    def names(self, taken: Iterable[str]) -> list[str]:
        """Name of the one column, with a ``_`` behind where it is taken."""
        return [_free(self.name, set(taken))]

    def rows(self, values: np.ndarray | None, num_agents: int) -> list[list[str]]:
        """Name for each agent's row; empty where there is none, or nothing to say."""
        found = {} if values is None else dict(zip(self.agents, self._texts(values), strict=True))
        return [[found.get(i, "")] for i in range(num_agents)]

    def event(self, values: np.ndarray, is_blank: bool) -> np.ndarray:
        """(agents of the array,) text; empty where there is no name, or nothing to say."""
        return np.array([""] * len(self.agents) if is_blank else self._texts(values))

    def _texts(self, values: np.ndarray) -> list[str]:
        chosen = values.tolist()  # of a program's own, which may be any numbers
        return [_joined(heads, choices) for heads, choices in zip(self.agents.values(), chosen, strict=True)]


def _joined(heads: Sequence[Sequence[str]], choices: Sequence[int]) -> str:
    """The names of an agent's choices, one for each head; empty where one has none."""
    pairs = list(zip(heads, choices, strict=False))
    known = bool(heads) and all(0 <= choice < len(names) for names, choice in pairs)
    return ", ".join(names[choice] for names, choice in pairs) if known else ""


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def sources(world: World, arrays: Iterable[Array]) -> list[Shown]:
    """Columns that a trace shows of these arrays of a world."""
    owners, of_steps = _owners(world), {"rewards", "terminated", "truncated", "agent_terminated", "agent_truncated"}
    for observed in observation_arrays(world.groups):
        of_steps.add(f"final_{observed.name}")
        if observed.name in owners:
            owners[f"final_{observed.name}"] = owners[observed.name]
    of_steps |= {action.name for action in action_arrays(world.groups)}
    agents = _named_agents(world)
    found: list[Shown] = []
    for array in arrays:
        found.append(Source(array, owners.get(array.name), array.name in of_steps))
        if array.name in agents:
            found.append(ActionNames(array, agents[array.name]))
    return found


def _named_agents(world: World) -> dict[str, dict[int, Sequence[Sequence[str]]]]:
    """Names of the choices of each agent, by the array of actions; only arrays of which some agents have names."""
    found: dict[str, dict[int, Sequence[Sequence[str]]]] = {}
    for group in world.groups.values():
        names = dict.fromkeys(group.numbers, names_of_choices(group))
        for name in world.action_names(group.name).values():
            found.setdefault(name, {}).update(names)
    return {name: dict(sorted(agents.items())) for name, agents in found.items() if any(agents.values())}


def _owners(world: World) -> dict[str, Group]:
    """The group of each array that holds the agents of one group only."""
    owners: dict[str, Group] = {}
    for group in world.groups.values():
        if group_suffix(world.groups, group, "observations"):
            owners |= dict.fromkeys(observation_names(world.groups, group).values(), group)
        if group_suffix(world.groups, group, "actions"):
            owners |= dict.fromkeys(world.action_names(group.name).values(), group)
    return owners


def header(shown: Sequence[Shown]) -> list[str]:
    """Names of all columns, in order."""
    names = list(LEADING)
    for source in shown:
        names += source.names(names)
    return names


def text(values: np.ndarray) -> list[str]:
    """Numbers as text: floats as the shortest that reads back as the same float of their dtype, bools as 0 and 1."""
    flat = np.ravel(values)
    return [str(value) for value in (flat.astype(np.uint8) if flat.dtype == np.bool_ else flat)]
