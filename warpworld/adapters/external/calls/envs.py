"""Interface of a library's envs that are stepped as a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from warpworld.environment import Group

# An array (num_envs, group size, *shape) of each group's observations; for a Dict space one for each key.
Observations = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Results of one step of all envs.

    Attributes:
        observations: of an env that ended, its final ones.
        rewards: (num_envs, num_agents).
        terminated: (num_envs,) bool: the episode ended by itself.
        truncated: (num_envs,) bool: it was cut by a limit.
        agent_mask: (num_envs, num_agents) bool: who took part in the step; None: everyone.
        agent_terminated: (num_envs, num_agents) bool: whose part of the episode ended in it; None if agents
            only end with their env.
        agent_truncated: (num_envs, num_agents) bool: whose part was cut in it; never one that ``agent_terminated``
            marks. None if agents are only cut with their env.
    """

    observations: Observations
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    agent_mask: np.ndarray | None = None
    agent_terminated: np.ndarray | None = None
    agent_truncated: np.ndarray | None = None


class Envs(Protocol):
    """Many envs of a library's environment.

    Attributes:
        groups: agent groups, with spaces as the store can hold them; complete after a reset, too.
        requested: arrays on request that its outcomes fill, such as "agent_mask"; complete after a reset, which may
            show that the library has masks of actions.
        action_mask: (num_envs, num_agents, choices of the agent that has most) bool, False for choices that are
            forbidden to who sees the observations that were handed out last; None if "action_mask" is not requested.
        stateless: why states of envs cannot be taken; empty where that can be tried, after a reset.
    """

    requested: tuple[str, ...]
    stateless: str

    @property
    def groups(self) -> tuple[Group, ...]:
        """Agents in groups."""

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks for the observations that were handed out last; None if there are none."""

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every env; env i's random numbers follow from ``seed + i``."""

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env with actions (num_envs, group size, entries) of each group, as the store holds them."""

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes, of the envs that are marked in ``envs``, (num_envs,) bool."""

    def save(self, envs: Sequence[int]) -> list[bytes]:
        """Take the states of envs: all that their future depends on, and what they showed last.

        Raises:
            StateError: one cannot be taken.
        """

    def load(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back, into these envs or others, all of which have been reset before.

        Raises:
            StateError: a state is of other envs or of another version, or damaged.
        """

    def close(self) -> None:
        """Let go of the envs."""
