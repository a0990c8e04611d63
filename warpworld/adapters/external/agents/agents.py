"""Agents of PettingZoo's environments: their groups, what they see, and what they may do."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from warpworld.adapters.external.calls import Calling, attribute
from warpworld.adapters.external.forms import ActionForm, ObservationForm, form_for, mask_in, mask_row, shown
from warpworld.adapters.external.results import Place
from warpworld.environment import Group, as_gymnasium
from warpworld.errors import DeclarationError, suggest

_NUMBER = re.compile(r"[_ ]?\d+\Z")


logger = logging.getLogger(__name__)


def single_group(name: str, size: int, form: ObservationForm, action: ActionForm) -> Group:
    """A group of a library's agents.

    Args:
        name: of the group.
        size: its agents.
        form: of what one of them sees.
        action: of what it does.
    """
    return Group(name, size, form.stored, action.stored, library_action=action.taken)


def space_of(env: Any, agent: Any, name: str, where: str) -> Space:
    """A space of an agent of a PettingZoo environment.

    Raises:
        DeclarationError: the environment has no method of that name, or it returns no space.
    """
    method = getattr(env, name, None)
    if not callable(method):
        what = "missing" if method is None else type(method).__name__
        raise DeclarationError(f"{where}: {name} is {what}, expected a method that returns the space of an agent")
    with Calling(where, name, agent=agent):
        space = as_gymnasium(method(agent))
    if not isinstance(space, Space):
        raise DeclarationError(
            f"{where}: {name}({agent!r}) returned {type(space).__name__}, expected a space of Gymnasium"
        )
    return space


class Agents:
    """The agents of one env, in groups by their names without the number at the end.

    Where spaces differ in a group, each of its agents is a group of its own.

    Args:
        env: a PettingZoo environment, of either kind.
        where: library and environment, for messages.

    Attributes:
        order: all agents, in the order of the store.
        places: of each agent in ``order``.
        where: as given.

    Raises:
        DeclarationError: the environment does not say what its agents are, or a space cannot be stored.
    """

    def __init__(self, env: Any, where: str) -> None:
        self.where = where
        possible = _possible_agents(env, where)
        self._observation = {agent: space_of(env, agent, "observation_space", where) for agent in possible}
        self._taken = {agent: space_of(env, agent, "action_space", where) for agent in possible}
        self._members = self._grouped(possible)
        self._forms: dict[Any, ObservationForm] = {}
        for name, members in self._members.items():
            form = ObservationForm(self._observation[members[0]], self._taken[members[0]], where, name)
            self._forms |= dict.fromkeys(members, form)
        self._action = {agent: form.action for agent, form in self._forms.items()}
        self.order = [agent for members in self._members.values() for agent in members]
        self.places = {agent: place for place, agent in enumerate(self.order)}

    def _grouped(self, possible: list[Any]) -> dict[str, list[Any]]:
        by_name: dict[str, list[Any]] = {}
        for agent in possible:
            by_name.setdefault(_NUMBER.sub("", str(agent)) or "agent", []).append(agent)
        apart: dict[str, list[Any]] = {}
        for name, members in by_name.items():
            spaces = [(self._observation[agent], self._taken[agent]) for agent in members]
            if all(space == spaces[0] for space in spaces):
                apart[_free(name, apart)] = members
            else:
                for agent in members:
                    apart[_free(str(agent), apart)] = [agent]
        return apart

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups, with spaces as the store can hold them; the first masks may make others of combinations."""
        return tuple(
            single_group(name, len(members), self._forms[members[0]], self._action[members[0]])
            for name, members in self._members.items()
        )

    @property
    def num_choices(self) -> int:
        """Choices of the agent that has most, in all heads; 0 if none has any."""
        return max(form.num_choices for form in self._action.values())

    def everything(self, num_envs: int) -> np.ndarray:
        """Masks that allow all choices: (num_envs, agents, num_choices) bool."""
        return np.ones((num_envs, len(self.order), self.num_choices), np.bool_)

    def masks_may_come(self, infos: Mapping[Any, Any]) -> bool:
        """Whether the environment says what is legal, in observations or in these infos, which may change forms."""
        for members in self._members.values():
            given = next((infos[agent] for agent in members if mask_in(infos.get(agent)) is not None), None)
            if given is not None and not self._forms[members[0]].has_mask:
                self._take_mask(members, given)
        return any(
            self._action[agent].num_choices and (self._forms[agent].has_mask or mask_in(infos.get(agent)) is not None)
            for agent in self.order
        )

    def _take_mask(self, members: list[Any], info: Mapping[str, Any]) -> None:
        """Take the form of actions that the first mask of a group asks for."""
        key = str(mask_in(info))
        form = form_for(info[key], self._action[members[0]])
        self._action |= dict.fromkeys(members, form)
        if not form.num_choices:
            logger.warning(
                "%s: agent %r: infos['%s'] is not used: it is no mask for actions in %s",
                self.where,
                members[0],
                key,
                form.space,
            )

    def native(self, actions: Mapping[str, np.ndarray]) -> dict[Any, Any]:
        """Convert stored actions to each agent's actions in all envs, in its own space."""
        return {
            agent: self._action[agent].native(actions[name][:, place])
            for name, members in self._members.items()
            for place, agent in enumerate(members)
        }

    def parts(self, env: int, agent: Any, observation: Any, call: str) -> dict[str, np.ndarray]:
        """An observation's parts as the store holds them.

        Args:
            env: index of the env.
            agent: the agent.
            observation: what it sees.
            call: the call that returned it, for messages.

        Raises:
            DeclarationError: it is not in the agent's space.
        """
        return self._forms[agent].parts(observation, Place(self.where, env, agent, call))

    def legal(self, env: int, agent: Any, observation: Any, info: Any) -> np.ndarray:
        """The choices that an agent may take: (num_choices,) bool; all, if the environment says nothing of it.

        Args:
            env: index of the env.
            agent: the agent.
            observation: what it sees.
            info: its infos.

        Raises:
            DeclarationError: the mask does not fit the agent's actions.
        """
        row = np.ones(self.num_choices, np.bool_)
        action, form, key = self._action[agent], self._forms[agent], mask_in(info)
        if not action.num_choices or (key is None and not form.has_mask):
            return row
        given = form.mask(observation) if form.has_mask else info[key]
        what = "observation['action_mask']" if form.has_mask else f"infos[{key!r}]"
        own = mask_row(given, action, f"{Place(self.where, env, agent)}: {what}")
        row[: own.size] = own
        return row

    def present(self, env: Any, index: int) -> list[Any]:
        """The agents that an env lists now.

        Args:
            env: of the library.
            index: of it, for messages.

        Raises:
            DeclarationError: there is no list of them; or one is listed twice, or is not among ``possible_agents``.
        """
        where = Place(self.where, index)
        agents = _listed(attribute(env, "agents", self.where, index), f"{where}: agents", "of those that take part")
        for agent in agents:
            if agent not in self.places:
                hint = suggest(str(agent), map(str, self.order))
                raise DeclarationError(f"{where}: agents has {agent!r}, which is not one of possible_agents.{hint}")
        return agents

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
        DeclarationError: it has no list of them, or one is listed twice.
    """
    what = f"{where}: possible_agents"
    agents = _listed(attribute(env, "possible_agents", where), what, "of at least one agent")
    if not agents:
        raise DeclarationError(f"{what} is [], expected a list of at least one agent")
    return agents


def _listed(given: Any, what: str, of: str) -> list[Any]:
    """A list of agents, which are keys of dicts later.

    Args:
        given: what an environment has.
        what: library, environment and attribute, for messages.
        of: the agents that it lists, for messages.

    Raises:
        DeclarationError: it is no list, or an agent is no key, or is listed twice.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DeclarationError(f"{what} is {given!r}, expected a list {of}")
    agents = list(given)
    try:
        is_once = len(set(agents)) == len(agents)
    except TypeError as error:  # a list in a tuple, too
        raise DeclarationError(f"{what} is {agents!r}, expected names that are hashable: {error}") from error
    if not is_once:
        raise DeclarationError(f"{what} is {agents!r}, expected each agent once")
    return agents


def _free(name: str, taken: Iterable[str]) -> str:
    """A name that a group may have, made of a library's."""
    base = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "agent"
    if not base[0].isalpha():
        base = f"agent_{base}"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found
