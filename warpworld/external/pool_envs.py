"""EnvPool's pools: they reset ended envs in the next step, but take resets of chosen envs at any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.environment import Group
from warpworld.environment.spaces import space_actions
from warpworld.external.envs import Observations, Outcome
from warpworld.external.spaces import stored_space
from warpworld.external.vector_envs import AGENT, of_agent


class PoolEnvs:
    """A pool that steps all its envs at once.

    Args:
        pool: made with ``env_type="gymnasium"``; its seeds are settled then.
        num_envs: envs in it.
    """

    requested: tuple[str, ...] = ()

    def __init__(self, pool: Any, num_envs: int) -> None:
        self._pool, self._num_envs = pool, num_envs
        observation, action = stored_space(pool.observation_space), stored_space(pool.action_space)
        self.groups: tuple[Group, ...] = (Group(AGENT, 1, observation, action),)
        self._now = np.empty(0)

    def reset(self, seed: int) -> Observations:
        """See ``Envs``; the seeds were given when the pool was made."""
        self._now = np.array(self._pool.reset()[0])
        return of_agent(self._now)

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """See ``Envs``."""
        self._now, rewards, terminated, truncated, _ = self._pool.step(
            space_actions(self._pool.action_space, actions[AGENT][:, 0])
        )
        return Outcome(of_agent(self._now), rewards[:, None], terminated, truncated)

    def begin(self, envs: np.ndarray) -> Observations:
        """See ``Envs``; an env that is reset here is not reset by its next step."""
        chosen = np.flatnonzero(envs).astype(np.int32)
        first, infos = self._pool.reset(chosen)
        self._now = np.array(self._now)
        self._now[infos["env_id"]] = first
        return of_agent(self._now)

    def close(self) -> None:
        """See ``Envs``: a pool ends with its last reference."""
        self._pool = None
