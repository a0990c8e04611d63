"""Agents of PettingZoo's environments: their groups, what they see, and what they may do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space, Tuple

from warpworld.adapters.external.action_masks import can_be_masked, mask_in, mask_row
from warpworld.adapters.external.observation_form import ObservationForm, shown
from warpworld.environment import Group
from warpworld.environment.gym_spaces import as_gymnasium
from warpworld.environment.library_actions import stored_action
from warpworld.environment.spaces import action_heads, space_actions
from warpworld.errors import DeclarationError, suggest

_NUMBER = re.compile(r"[_ ]?\d+\Z")


def single_group(name: str, size: int, form: ObservationForm, action: Space, where: str) -> Group:
    """A group of a library's agents.

    Args:
        name: of the group.
        size: its agents.
        form: of what one of them sees.
        action: the library's space.
        where: library and environment, for messages.

    Raises:
        DeclarationError: the store cannot hold such actions.
    """
    if isinstance(action, (Tuple, Dict)):
        raise DeclarationError(
            f"{where}: group '{name}': actions are in {action}, expected Discrete, MultiDiscrete, MultiBinary or a "
            "Box. Wrap the env in gymnasium.wrappers.TransformAction; docs/external.md shows where"
        )
    stored = stored_action(action)
    return Group(name, size, form.stored, stored, library_action=None if stored is action else action)


class Agents:
    """The agents of one env, in groups by their names without the number at the end.

    Where spaces differ in a group, each of its agents is a group of its own.

    Args:
        env: a PettingZoo environment, of either kind.
        where: library and environment, for messages.

    Attributes:
        groups: with spaces as the store can hold them.
        order: all agents, in the order of the store.
        places: of each agent in ``order``.
        where: as given.

    Raises:
        DeclarationError: the environment does not say what its agents are, or a space cannot be stored.
    """

    def __init__(self, env: Any, where: str) -> None:
        self.where = where
        possible = _possible_agents(env, where)
        self._observation = {agent: as_gymnasium(env.observation_space(agent)) for agent in possible}
        self._action = {agent: as_gymnasium(env.action_space(agent)) for agent in possible}
        self._members = self._grouped(possible)
        self._forms: dict[Any, ObservationForm] = {}
        for name, members in self._members.items():
            first = members[0]
            form = ObservationForm(self._observation[first], self._action[first], f"{where}: group '{name}'")
            self._forms |= dict.fromkeys(members, form)
        self.groups = tuple(
            single_group(name, len(members), self._forms[members[0]], self._action[members[0]], where)
            for name, members in self._members.items()
        )
        self.order = [agent for members in self._members.values() for agent in members]
        self.places = {agent: place for place, agent in enumerate(self.order)}

    def _grouped(self, possible: list[Any]) -> dict[str, list[Any]]:
        by_name: dict[str, list[Any]] = {}
        for agent in possible:
            by_name.setdefault(_NUMBER.sub("", str(agent)) or "agent", []).append(agent)
        apart: dict[str, list[Any]] = {}
        for name, members in by_name.items():
            spaces = [(self._observation[agent], self._action[agent]) for agent in members]
            if all(space == spaces[0] for space in spaces):
                apart[_free(name, apart)] = members
            else:
                for agent in members:
                    apart[_free(str(agent), apart)] = [agent]
        return apart

    @property
    def num_choices(self) -> int:
        """Choices of the agent that has most, in all heads; 0 if none has any."""
        return max((sum(action_heads(group.action)) for group in self.groups), default=0)

    def masks_may_come(self, infos: Mapping[Any, Any]) -> bool:
        """Whether the environment says what is legal, in observations or in these infos."""
        return any(
            can_be_masked(self._action[agent])
            and (self._forms[agent].has_mask or mask_in(infos.get(agent)) is not None)
            for agent in self.order
        )

    def native(self, actions: Mapping[str, np.ndarray]) -> dict[Any, np.ndarray]:
        """Each agent's actions in all envs, in its own space."""
        return {
            agent: space_actions(self._action[agent], actions[name][:, place])
            for name, members in self._members.items()
            for place, agent in enumerate(members)
        }

    def parts(self, agent: Any, observation: Any) -> dict[str, np.ndarray]:
        """An observation's parts as the store holds them.

        Raises:
            DeclarationError: it is not in the agent's space.
        """
        return self._forms[agent].parts(observation, who=f", agent {agent!r}")

    def legal(self, agent: Any, observation: Any, info: Any) -> np.ndarray:
        """The choices that an agent may take: (num_choices,) bool; all, if the environment says nothing of it.

        Raises:
            DeclarationError: the mask does not fit the agent's actions.
        """
        row = np.ones(self.num_choices, np.bool_)
        action, form, key = self._action[agent], self._forms[agent], mask_in(info)
        if not can_be_masked(action) or (key is None and not form.has_mask):
            return row
        given = form.mask(observation) if form.has_mask else info[key]
        what = "observation['action_mask']" if form.has_mask else f"infos[{key!r}]"
        own = mask_row(given, action, f"{self.where}: agent {agent!r}: {what}")
        row[: own.size] = own
        return row

    def present(self, env: Any) -> list[Any]:
        """The agents that an env lists now.

        Raises:
            DeclarationError: one is not among ``possible_agents``.
        """
        for agent in env.agents:
            if agent not in self.places:
                hint = suggest(str(agent), map(str, self.order))
                raise DeclarationError(
                    f"{self.where}: agents has {agent!r}, which is not one of possible_agents.{hint}"
                )
        return list(env.agents)

    def stacked(self, seen: list[dict[Any, dict[str, np.ndarray]]]) -> dict[str, Any]:
        """Observations of every agent of every env by group, from parts by agent; zeros of one that was never seen."""
        return {group.name: self._of_group(seen, group) for group in self.groups}

    def _of_group(self, seen: list[dict[Any, dict[str, np.ndarray]]], group: Group) -> Any:
        members = self._members[group.name]
        nothing = self._forms[members[0]].nothing()
        rows = [[each.get(agent, nothing) for agent in members] for each in seen]
        return shown({key: np.array([[one[key] for one in row] for row in rows]) for key in nothing})


def _possible_agents(env: Any, where: str) -> list[Any]:
    """All agents of an env, of which some may be absent at times.

    Raises:
        DeclarationError: it has no list of them.
    """
    given = getattr(env, "possible_agents", None)
    if given is None or isinstance(given, str) or not isinstance(given, Iterable) or not list(given):
        raise DeclarationError(f"{where}: possible_agents is {given!r}, expected a list of at least one agent")
    return list(given)


def _free(name: str, taken: Iterable[str]) -> str:
    """A name that a group may have, made of a library's."""
    base = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "agent"
    if not base[0].isalpha():
        base = f"agent_{base}"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found
