"""PettingZoo environments that do what the protocol allows and what it does not, by their options."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

AGENTS = {"words": ["a_0", "a_1"], "numbers": [0, 1], "spaces": ["red team 0", "red team 1"], "pairs": [(0, 1), (1, 1)]}


class Odd(ParallelEnv):
    """Two agents that see how many steps were made. The first ends after step 2, the second after step 3.

    Args:
        agents: names, see ``AGENTS``.
        keeps: leave agents that ended in ``agents``.
        fault: what is wrong in ``step()`` or ``reset()``.
        masks: where masks of actions are: "infos", "steps" for infos of steps only, or None.
    """

    metadata = {"name": "odd"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, agents: str = "words", keeps: bool = False, fault: str = "", masks: str | None = None) -> None:
        self.possible_agents, self._keeps, self._fault, self._masks = AGENTS[agents], keeps, fault, masks
        if fault == "no agents":
            self.possible_agents = []
        if fault == "twins":
            self.possible_agents = ["a_0", "a_1", "a_0"]
        if fault == "lists":
            self.possible_agents = [["a_0"], ["a_1"]]

    def observation_space(self, agent: Any) -> Any:
        return Box(0.0, 100.0, (1,), np.float32)

    def action_space(self, agent: Any) -> Any:
        return Discrete(3)

    def _dicts(self, agents: list[Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Observations and infos."""
        seen: dict[Any, Any] = {agent: np.array([self._step], np.float32) for agent in agents}
        if self._fault == "shape":
            seen[agents[-1]] = np.zeros(2, np.float32)
        if self._fault == "missing":
            del seen[agents[-1]]
        there = self._masks == "infos" or (self._masks == "steps" and self._step > 0)
        allowed = np.array([1, 1, self._step % 2]) if self._fault != "mask" else np.ones(4)
        return seen, {agent: {"action_mask": allowed} if there else {} for agent in agents}

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents: list[Any]
        self.agents, self._step = list(self.possible_agents), 0
        if self._fault == "stranger":
            self.agents.append("ghost")
        if self._fault == "twins now":
            self.agents.append("a_0")
        if self._fault == "lists now":
            self.agents = ["a_0", ("a_1", [1])]
        seen, infos = self._dicts(self.possible_agents)
        return seen if self._fault == "old reset" else (seen, infos)

    def step(self, actions: dict[Any, Any]) -> Any:
        assert set(actions) == set(self.agents)
        self._step += 1
        agents, first = self.agents, self.possible_agents[0]
        seen, infos = self._dicts(agents)
        paid: dict[Any, Any] = {agent: np.array([1.5]) for agent in agents}  # of shape (1,)
        ends: dict[Any, Any] = {agent: self._step >= (2 if agent == first else 3) for agent in agents}
        cuts: dict[Any, Any] = dict.fromkeys(agents, False)
        if self._fault == "reward":
            paid[first] = np.ones(2)
        if self._fault == "flag":
            ends[first] = "no"
        if self._fault == "lacks":
            del paid[first]
        if self._fault == "wrong key":
            paid["a_00"] = 1.0
        if not self._keeps:
            self.agents = [agent for agent in agents if not ends[agent]]
        return (seen, paid, ends, infos) if self._fault == "old step" else (seen, paid, ends, cuts, infos)


def parallel_env(**options: Any) -> Odd:
    """What ``id: tests.adapters.external.odd`` names for ``library: pettingzoo``."""
    return Odd(**options)
