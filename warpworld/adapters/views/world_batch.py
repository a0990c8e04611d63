"""A world as a batch: which agents are its entries, and what is read and written of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict, Space
from gymnasium.vector.utils import batch_space

from warpworld.adapters.views.actions import parts_writer
from warpworld.adapters.views.host_arrays import HostArrays, parts_of
from warpworld.environment import Path, observation_names, own_space, parts_with
from warpworld.errors import DeclarationError, suggest
from warpworld.world import World

if TYPE_CHECKING:
    import torch

AGENTS = ("auto", "axis", "rows")
Read = Callable[[], Any]


class Batch:
    """A sealed world whose envs, or whose agents, are the entries of a batch.

    Attributes:
        single_observation_space: of one entry.
        single_action_space: of one entry.
        size: entries.
        per_env: entries of an env: 1, or its number of agents.
        row_groups: name of the group of each row, (size,) where agents are rows; else of each agent along the axis.
        own_ends: returns (size,) bool twice, the agents whose part of the episode ended by itself in this step, and
            those whose part was cut; None where agents are not rows, or the environment has neither
            ``agent_terminated`` nor ``agent_truncated``.
        observe: returns the observations of all entries.
        rewards: returns (size,) float32: of an env of several agents, their mean.
        terminated: returns (size,) bool.
        truncated: returns (size,) bool.
        write: takes the actions of all entries.
        step: a step of the world, between ``write`` and what is read.
        pull: brings up to date what is read, where that is not done by ``step``.

    Args:
        world: is sealed. Its groups have the same spaces.
        agents: "axis" keeps the agents of an env together, in an axis behind that of the envs; "rows" makes each an
            entry, with the ends of its env. "auto" is "axis" for one group of several agents, else "rows".
        copies: hand out copies; else views of the store, where it lies in host memory, valid until the next step.

    Raises:
        DeclarationError: the groups of the world differ in their spaces, or there is no such way to see agents.
    """

    def __init__(self, world: World, agents: str = "auto", copies: bool = True) -> None:
        rows = _agents_are_rows(world, agents)
        group = next(iter(world.groups.values()))
        world.seal()
        self._world, self._copies, self._observation_space = world, copies, group.observation
        # rows, which are agents or envs
        self.per_env = world.num_agents if rows else 1
        self.size = world.num_envs * self.per_env
        groups = [(group.name, number) for group in world.groups.values() for number in group.numbers]
        self.row_groups = tuple(name for name, _ in groups) * (world.num_envs if rows else 1)
        self.agents = tuple(number for _, number in groups)  # of an env, in the order of its entries
        self._lead = (self.size,) if rows else (world.num_envs, world.num_agents)
        self.single_observation_space = self._single(group.observation)
        self.single_action_space = self._single(group.callers_action)

        # functions that read and write them
        self._results = HostArrays(world)
        self.observe = self._reading(self._results, copies)
        self.rewards = self._rewards()
        self.terminated, self.truncated = (self._ends(self._array(name)) for name in ("terminated", "truncated"))
        self.own_ends = self._own_ends() if rows else None
        self.write = self._writer(group.callers_action)
        self.step, self.pull = self._results.around(world.step), self._results.pull

    def _single(self, space: Space) -> Space:
        """The space of an entry, which is the batch's own."""
        return own_space(space) if len(self._lead) == 1 else batch_space(space, self._lead[1])

    def finals(self, copy: bool) -> Read:
        """Make a function that returns the final observations of ended episodes; the world must keep them."""
        arrays = HostArrays(self._world)
        read = self._reading(arrays, copy, "final_")
        if arrays.are_views:
            return read

        def finals() -> Any:
            arrays.pull()
            return read()

        return finals

    def arrays(self, names: Iterable[str], prefix: str = "") -> Callable[[], dict[str, np.ndarray]]:
        """Make a function that returns copies of arrays by name: (size, *shape), agents as rows or along an axis.

        Args:
            names: of arrays per agent or per env.
            prefix: of the arrays that are handed out under these names: "final_" for those of ended episodes.
        """
        results = HostArrays(self._world) if prefix else self._results
        reads = {name: self._of_entries(f"{prefix}{name}", results if prefix else None) for name in names}

        def arrays() -> dict[str, np.ndarray]:
            if prefix:
                results.pull()
            return {name: read() for name, read in reads.items()}

        return arrays

    def _of_entries(self, name: str, arrays: HostArrays | None = None) -> Read:
        view, repeats = (arrays or self._results).read(self._world[name]), self.per_env
        if self._world.data.array(name).per == "agent":
            if self._is_interleaved:
                return lambda: view[:, self.agents].reshape(*self._lead, *view.shape[2:])
            return view.reshape(*self._lead, *view.shape[2:]).copy
        return view.copy if repeats == 1 else lambda: np.repeat(view, repeats, axis=0)

    def write_some(self, actions: Any, entries: np.ndarray) -> None:
        """Take the actions of some entries, in the order of their indices; all others keep theirs."""
        own = {path: view[entries] for path, view in self._actions.items()}
        parts_writer(own, self._action_space, self._world.checks_actions)(actions)
        for path, written in own.items():
            self._actions[path][entries] = written

    def step_some(self, active: torch.Tensor) -> None:
        """A step of some envs; see ``World.step_some``."""
        self._results.around(lambda: self._world.step_some(active))()

    def _array(self, name: str) -> np.ndarray:
        return self._results.read(self._world[name])

    def _reading(self, arrays: HostArrays, copy: bool, prefix: str = "") -> Read:
        """Make a function that returns observations, from the arrays whose names begin with ``prefix``."""
        groups, space = self._world.groups, self._observation_space
        names = {name: observation_names(groups, group) for name, group in groups.items()}
        spaces: Mapping[str, Space] = space.spaces if isinstance(space, Dict) else {"": space}
        reads = {}
        for key, part in spaces.items():
            view = arrays.read(*parts_of(self._world, {name: f"{prefix}{keys[key]}" for name, keys in names.items()}))
            reads[key] = reader(view.reshape(*self._lead, *part.shape), part, copy)  # type: ignore[misc]
        if "" in reads:
            return reads[""]
        return lambda: {key: read() for key, read in reads.items()}

    @property
    def _is_interleaved(self) -> bool:
        """Whether entries, which are in the order of groups, are in another than the env's agents."""
        return self.agents != tuple(range(len(self.agents)))

    def _rewards(self) -> Read:
        view = self._array("rewards")
        if len(self._lead) == 1 and self._is_interleaved:
            return self._of_entries("rewards")
        if len(self._lead) == 1 or view.shape[1] == 1:
            return _handed_out(view.reshape(-1), self._copies)
        agents = np.float32(view.shape[1])
        return lambda: np.add.reduce(view, axis=1) / agents

    def _ends(self, view: np.ndarray) -> Read:
        repeats = self.per_env
        return _handed_out(view, self._copies) if repeats == 1 else lambda: np.repeat(view, repeats)

    def _own_ends(self) -> Callable[[], tuple[np.ndarray, np.ndarray]] | None:
        names = ("agent_terminated", "agent_truncated")
        reads = [self._of_entries(name) if name in self._world else None for name in names]
        if reads == [None, None]:
            return None
        nothing = np.zeros(self.size, np.bool_)
        died, cut = (read or nothing.copy for read in reads)
        return lambda: (died(), cut())

    def _writer(self, space: Space) -> Callable[[Any], None]:
        world, self._action_space = self._world, space
        first = next(iter(world.groups.values()))
        names = {name: world.action_names(name) for name in world.groups}
        self._actions: dict[Path, np.ndarray] = {}
        for part, path, leaf in parts_with(first.action, space):
            arrays = {name: parts[part.key] for name, parts in names.items()}
            view = self._results.written(*parts_of(world, arrays))
            self._actions[path] = view.reshape(*self._lead, *(leaf.shape or ()))
        return parts_writer(self._actions, space, world.checks_actions)


def reader(view: np.ndarray, space: Space, copy: bool) -> Read:
    """Make a function that returns an array in its space's dtype; without ``copy`` the view itself if it has it."""
    dtype = space.dtype
    return _handed_out(view, copy) if view.dtype == dtype else lambda: view.astype(dtype)


def _handed_out(view: np.ndarray, copy: bool) -> Read:
    return view.copy if copy else lambda: view


def _agents_are_rows(world: World, agents: str) -> bool:
    if agents not in AGENTS:
        raise DeclarationError(f"agents={agents!r}: expected one of {', '.join(AGENTS)}.{suggest(str(agents), AGENTS)}")
    first, *others = world.groups.values()
    for group in others:
        sees, acts = group.observation != first.observation, group.callers_action != first.callers_action
        if sees or acts:
            what = "see different things" if sees else "act in different ways"
            raise DeclarationError(
                f"{world.environment.name}: groups '{first.name}' and '{group.name}' {what}, which a VectorEnv cannot "
                "express; use api='parallel_vector' or the World itself"
            )
    return agents == "rows" or (agents == "auto" and (bool(others) or world.num_agents == 1))
