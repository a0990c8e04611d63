"""Ends of agents' parts of episodes, and what a step of all envs gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpworld.adapters.external.calls.envs import Observations, Outcome


@dataclass(frozen=True)
class End:
    """The way in which an agent's part of the episode ended in a step, if it did.

    Attributes:
        terminated: by itself.
        truncated: by a limit.
    """

    terminated: bool
    truncated: bool

    @classmethod
    def of(cls, terminated: bool, truncated: bool, is_present: bool) -> End:
        """The end that an env reports of an agent; one that vanishes without a flag has terminated."""
        return cls(terminated or not (truncated or is_present), truncated and not terminated)

    @property
    def is_one(self) -> bool:
        """Whether it ended."""
        return self.terminated or self.truncated


NOT_YET = End(False, False)


class StepRows:
    """Gathers what each env's agents got in a step.

    Args:
        num_envs: envs.
        num_agents: agents of an env.
    """

    def __init__(self, num_envs: int, num_agents: int) -> None:
        shape = num_envs, num_agents
        self._rewards, self._mask = np.zeros(shape, np.float32), np.zeros(shape, np.bool_)
        self._terminated, self._truncated = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        self._over = np.zeros(num_envs, np.bool_)

    def add(self, env: int, places: Mapping[Any, int], paid: Mapping[Any, float], ends: Mapping[Any, End]) -> None:
        """Take one env's results.

        Args:
            env: its number.
            places: of agents, in the order of the store.
            paid: rewards of those that took part.
            ends: of the same agents.
        """
        for agent, end in ends.items():
            place = places[agent]
            self._rewards[env, place], self._mask[env, place] = paid[agent], True
            self._terminated[env, place], self._truncated[env, place] = end.terminated, end.truncated

    def end(self, env: int) -> None:
        """An env's episode ended in this step."""
        self._over[env] = True

    def outcome(self, observations: Observations) -> Outcome:
        """The step; an env is truncated if one of the agents with which it ended was."""
        cut = self._over & self._truncated.any(axis=1)
        return Outcome(
            observations, self._rewards, self._over & ~cut, cut, self._mask, self._terminated, self._truncated
        )
