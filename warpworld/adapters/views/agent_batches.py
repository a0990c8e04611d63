"""Observations, infos and actions of each agent, in all envs of a world at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space

from warpworld.adapters.views.actions import parts_writer
from warpworld.adapters.views.host_arrays import HostArrays, part_of
from warpworld.adapters.views.infos import names_of_lives
from warpworld.environment import Group, choice_heads, observation_names, own_space, parts_with
from warpworld.world import World


@dataclass(frozen=True)
class AgentBatch:
    """Place of one agent, and the function that takes its actions.

    Attributes:
        group: which it is of.
        number: in its group.
        index: among the agents of an env.
        targets: its actions in the store, (num_envs, ...), of each part of a Dict or Tuple.
        fill: takes its actions in all envs.
    """

    group: Group
    number: int
    index: int
    targets: tuple[np.ndarray, ...]
    fill: Callable[[Any], None]

    def space(self, kind: str) -> Space:
        """A copy of its space in one env, "observation" or "action", which shares nothing with any other."""
        return own_space(self.group.observation if kind == "observation" else self.group.callers_action)

    def write(self, actions: Any, acts: np.ndarray | None = None) -> None:
        """Take its actions, (num_envs, ...); only those of envs in which it ``acts``, (num_envs,) bool, if given."""
        if acts is None:
            return self.fill(actions)
        kept = [target[~acts] for target in self.targets]
        self.fill(actions)
        for target, own in zip(self.targets, kept, strict=True):
            target[~acts] = own


def agent_batches(world: World, arrays: HostArrays) -> dict[str, AgentBatch]:
    """Batches of each agent by its name: that of its group, and its number in it.

    Args:
        world: is sealed.
        arrays: where its arrays are written.
    """
    found = {}
    for group in world.groups.values():
        names = world.action_names(group.name)
        done = {
            path: (arrays.written(part_of(world, group, names[part.key])), leaf.shape or ())
            for part, path, leaf in parts_with(group.action, group.callers_action)
        }
        for number in range(group.size):
            name = f"{group.name}_{number}"
            targets = {
                path: view.reshape(world.num_envs, group.size, *shape)[:, number]
                for path, (view, shape) in done.items()
            }
            fill = parts_writer(targets, group.callers_action, world.checks_actions, f"actions of '{name}'")
            found[name] = AgentBatch(group, number, group.numbers[number], tuple(targets.values()), fill)
    return found


class SeenByAgents:
    """Observations of every agent, read from the store group by group.

    Args:
        world: is sealed.
        arrays: where its arrays are read.
        prefix: of the arrays' names: "final_" for what was last seen of ended episodes.
    """

    def __init__(self, world: World, arrays: HostArrays, prefix: str = "") -> None:
        self._groups = []
        for group in world.groups.values():
            names = observation_names(world.groups, group)
            spaces: dict[str, Space] = (
                dict(group.observation.spaces) if isinstance(group.observation, Dict) else {"": group.observation}
            )
            views = {}
            for key, space in spaces.items():
                view = arrays.read(part_of(world, group, f"{prefix}{names[key]}"))
                views[key] = view.reshape(world.num_envs, group.size, *space.shape), space.dtype  # type: ignore[misc]
            self._groups.append((group, views))

    def read(self, copy: bool) -> dict[str, Any]:
        """Observations of each agent in all envs, (num_envs, *shape), a dict of such for a Dict space.

        Args:
            copy: return copies, which are made once for each group; else views, where the store has the space's dtype.
        """
        found: dict[str, Any] = {}
        for group, views in self._groups:
            seen = {key: view.astype(dtype, copy=copy) for key, (view, dtype) in views.items()}
            for number in range(group.size):
                own = {key: array[:, number] for key, array in seen.items()}
                found[f"{group.name}_{number}"] = own.get("", own)
        return found

    def states(self) -> np.ndarray:
        """Observations of all agents, (num_envs, entries) float32, agent by agent and key by key."""
        rows = [
            view[:, number].reshape(len(view), -1)
            for group, views in self._groups
            for number in range(group.size)
            for view, _ in views.values()
        ]
        return np.concatenate(rows, axis=1, dtype=np.float32, casting="unsafe")


class InfosOfAgents:
    """Arrays that the environment names in its ``infos``, "action_mask" and "agent_mask", agent by agent.

    Args:
        world: is sealed.
        arrays: where its arrays are read.
        names: of the arrays; None for all that infos show.
        prefix: of the arrays' names in the store.
    """

    def __init__(self, world: World, arrays: HostArrays, names: Iterable[str] | None = None, prefix: str = "") -> None:
        if names is None:
            masks = [name for name in ("action_mask", *names_of_lives(world)[:1]) if name in world]
            names = dict.fromkeys([*world.infos, *masks])
        self._views = {name: arrays.read(world[f"{prefix}{name}"]) for name in names}
        self._of_agents = {name: world.data.array(f"{prefix}{name}").per == "agent" for name in self._views}
        self._choices = {name: sum(choice_heads(group.callers_action)) for name, group in world.groups.items()}

    def __bool__(self) -> bool:
        return bool(self._views)

    def of(self, agent: AgentBatch) -> dict[str, np.ndarray]:
        """Copies of an agent's part of the arrays: (num_envs, ...); its "action_mask" is int8, as spaces take it."""
        found = {}
        for name, view in self._views.items():
            own = view[:, agent.index] if self._of_agents[name] else view
            if name == "action_mask":
                if choices := self._choices[agent.group.name]:
                    found[name] = own[:, :choices].astype(np.int8)
            else:
                found[name] = own.copy()
        return found
