"""What each agent of a group sees and does, in a world of one env."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space

from warpworld.adapters.actions import action_writer
from warpworld.adapters.batch import reader
from warpworld.adapters.host_arrays import HostArrays, part_of
from warpworld.environment import Group
from warpworld.environment.spaces import action_heads, observation_names
from warpworld.world import World


@dataclass(frozen=True)
class AgentViews:
    """One agent.

    Attributes:
        group: which it is of.
        parts: views of what it sees, of each key of a Dict space.
        observe: returns a copy of what it sees.
        write: takes its action.
        choices: how many entries its mask of actions has.
    """

    group: Group
    parts: tuple[np.ndarray, ...]
    observe: Callable[[], Any]
    write: Callable[[Any], None]
    choices: int


class GroupViews:
    """One group.

    Args:
        world: of one env, sealed.
        group: one of its groups.
        arrays: where its arrays are read and written.
    """

    def __init__(self, world: World, group: Group, arrays: HostArrays) -> None:
        self._world, self._group = world, group
        space, names = group.observation, observation_names(world.groups, group)
        self._spaces: dict[str, Space] = dict(space.spaces) if isinstance(space, Dict) else {"": space}
        self._seen = {
            key: arrays.read(part_of(world, group, names[key]))[0].reshape(group.size, *part.shape)  # type: ignore[misc]
            for key, part in self._spaces.items()
        }
        self._done = arrays.written(part_of(world, group, world.action_array(group.name)[0]))[0]

    def agents(self) -> dict[str, AgentViews]:
        """Each agent by its name."""
        return {f"{self._group.name}_{index}": self._agent(index) for index in range(self._group.size)}

    def _agent(self, index: int) -> AgentViews:
        parts = {key: seen[index, ...] for key, seen in self._seen.items()}
        reads = {key: reader(part, self._spaces[key], copy=True) for key, part in parts.items()}
        observe = reads[""] if "" in reads else lambda: {key: read() for key, read in reads.items()}
        return AgentViews(
            self._group, tuple(parts.values()), observe, self._writer(index), sum(action_heads(self._group.action))
        )

    def _writer(self, index: int) -> Callable[[Any], None]:
        space, name = self._group.action, f"actions of '{self._group.name}_{index}'"
        target = self._done[index].reshape(space.shape)
        return action_writer(target, space, self._world.checks_actions, name)
