"""PettingZoo's parallel environments: several agents, of which some may leave before the episode ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space

from warpworld.environment import Group
from warpworld.environment.spaces import space_actions
from warpworld.external.envs import Observations, Outcome
from warpworld.external.spaces import stored_space

_NUMBER = re.compile(r"_?\d+\Z")


class ParallelEnvs:
    """Envs that are stepped one after the other.

    Agents are grouped by their names without the number at the end; where spaces differ in a group, each of its agents
    is a group of its own.

    Args:
        make: makes one env.
        num_envs: how many.
    """

    requested: tuple[str, ...] = ("agent_mask", "agent_terminated")

    def __init__(self, make: Callable[[], Any], num_envs: int) -> None:
        self._envs = [make() for _ in range(num_envs)]
        self._members = _grouped(self._envs[0])
        self.groups = tuple(_group(self._envs[0], name, agents) for name, agents in self._members.items())
        self._order = [agent for agents in self._members.values() for agent in agents]
        self._seen: list[dict[str, Any]] = [{} for _ in range(num_envs)]

    def reset(self, seed: int) -> Observations:
        """See ``Envs``."""
        for env, each in enumerate(self._envs):
            self._seen[env] = dict(each.reset(seed=seed + env)[0])
        return self._observations()

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """See ``Envs``."""
        native = self._native(actions)
        shape = len(self._envs), len(self._order)
        rewards, mask, left = np.zeros(shape, np.float32), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        terminated, truncated = np.zeros(shape[0], np.bool_), np.zeros(shape[0], np.bool_)
        for env, each in enumerate(self._envs):
            live = set(each.agents)
            seen, paid, _, cuts, _ = each.step({agent: native[agent][env] for agent in live})
            self._seen[env].update(seen)
            rewards[env] = [paid.get(agent, 0.0) for agent in self._order]
            mask[env] = [agent in live for agent in self._order]
            left[env] = [agent in live and agent not in each.agents for agent in self._order]
            if not each.agents:
                truncated[env] = any(cuts.values())
                terminated[env] = not truncated[env]
        return Outcome(self._observations(), rewards, terminated, truncated, mask, left)

    def _native(self, actions: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Each agent's actions in all envs, in its own space."""
        first = self._envs[0]
        return {
            agent: space_actions(first.action_space(agent), actions[name][:, place])
            for name, agents in self._members.items()
            for place, agent in enumerate(agents)
        }

    def begin(self, envs: np.ndarray) -> Observations:
        """See ``Envs``."""
        for env in np.flatnonzero(envs):
            self._seen[env] = dict(self._envs[env].reset()[0])
        return self._observations()

    def _observations(self) -> Observations:
        """What every agent sees; one that has left, what it saw last."""
        return {group.name: _stacked(self._seen, self._members[group.name], group) for group in self.groups}

    def close(self) -> None:
        """See ``Envs``."""
        for each in self._envs:
            each.close()


def _grouped(env: Any) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for agent in env.possible_agents:
        groups.setdefault(_NUMBER.sub("", agent) or "agent", []).append(agent)
    apart: dict[str, list[str]] = {}
    for name, agents in groups.items():
        spaces = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
        alike = all(space == spaces[0] for space in spaces)
        apart.update({name: agents} if alike else {agent: [agent] for agent in agents})
    return apart


def _group(env: Any, name: str, agents: list[str]) -> Group:
    first = agents[0]
    return Group(name, len(agents), stored_space(env.observation_space(first)), stored_space(env.action_space(first)))


def _stacked(seen: list[dict[str, Any]], agents: list[str], group: Group) -> Any:
    """(num_envs, agents, *shape), or one for each key of a Dict space; zeros of an agent that was never seen."""

    def part(key: str, space: Space) -> np.ndarray:
        nothing = np.zeros(space.shape or (), space.dtype)
        rows = [[each.get(agent, nothing) for agent in agents] for each in seen]
        return np.array([[one[key] if isinstance(one, Mapping) else one for one in row] for row in rows])

    if isinstance(group.observation, Dict):
        return {key: part(key, space) for key, space in group.observation.spaces.items()}
    return part("", group.observation)
