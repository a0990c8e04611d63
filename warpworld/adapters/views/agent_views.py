"""Observations, infos and actions of each agent, in a world of one env."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space

from warpworld.adapters.views.actions import parts_writer
from warpworld.adapters.views.host_arrays import HostArrays, part_of
from warpworld.adapters.views.masks import space_mask
from warpworld.adapters.views.world_batch import reader
from warpworld.environment import Group, choice_heads, observation_names, parts_with
from warpworld.world import World


@dataclass(frozen=True)
class AgentViews:
    """Observation, infos and action of one agent.

    Attributes:
        group: which it is of.
        index: among the agents of the env.
        parts: views of what it sees, of each key of a Dict space.
        observe: returns a copy of what it sees.
        infos: returns copies of its part of the arrays that the environment names in ``infos``, and its "action_mask",
            if it has one, as its space takes it.
        write: takes its action.
    """

    group: Group
    index: int
    parts: tuple[np.ndarray, ...]
    observe: Callable[[], Any]
    infos: Callable[[], dict[str, Any]]
    write: Callable[[Any], None]


def agent_views(world: World, arrays: HostArrays) -> dict[str, AgentViews]:
    """Views of each agent by its name: that of its group, and its number in it.

    Args:
        world: of one env, sealed.
        arrays: where its arrays are read and written.
    """
    infos = _Infos(world, arrays)
    groups = [_GroupViews(world, group, arrays) for group in world.groups.values()]
    return {
        f"{views.group.name}_{number}": views.agent(number, infos)
        for views in groups
        for number in range(views.group.size)
    }


class _Infos:
    def __init__(self, world: World, arrays: HostArrays) -> None:
        self._of_agents = {name: world.data.array(name).per == "agent" for name in world.infos}
        self._named = {name: arrays.read(world[name])[0, ...] for name in world.infos}
        self._masks = arrays.read(world["action_mask"])[0] if "action_mask" in world else None

    def of(self, index: int, action: Space) -> Callable[[], dict[str, Any]]:
        """Make a function that returns the infos of one agent, whose actions are of this space."""
        views = {name: view[index, ...] if self._of_agents[name] else view for name, view in self._named.items()}
        row = None if self._masks is None or not choice_heads(action) else self._masks[index]

        def infos() -> dict[str, Any]:
            found = {name: view.copy() for name, view in views.items()}
            return found if row is None else {**found, "action_mask": space_mask(action, row)}

        return infos


class _GroupViews:
    def __init__(self, world: World, group: Group, arrays: HostArrays) -> None:
        self.group, self._checks = group, world.checks_actions
        space, names = group.observation, observation_names(world.groups, group)
        self._spaces: dict[str, Space] = dict(space.spaces) if isinstance(space, Dict) else {"": space}
        self._seen = {
            key: arrays.read(part_of(world, group, names[key]))[0].reshape(group.size, *part.shape)  # type: ignore[misc]
            for key, part in self._spaces.items()
        }
        names = world.action_names(group.name)
        self._done = {
            path: (arrays.written(part_of(world, group, names[part.key]))[0], leaf.shape or ())
            for part, path, leaf in parts_with(group.action, group.callers_action)
        }

    def agent(self, number: int, infos: _Infos) -> AgentViews:
        """Make the views of one agent of the group."""
        index, space = self.group.numbers[number], self.group.callers_action
        parts = {key: seen[number, ...] for key, seen in self._seen.items()}
        reads = {key: reader(part, self._spaces[key], copy=True) for key, part in parts.items()}
        observe = reads[""] if "" in reads else lambda: {key: read() for key, read in reads.items()}
        targets = {path: done[number].reshape(shape) for path, (done, shape) in self._done.items()}
        write = parts_writer(targets, space, self._checks, f"actions of '{self.group.name}_{number}'")
        return AgentViews(self.group, index, tuple(parts.values()), observe, infos.of(index, space), write)
