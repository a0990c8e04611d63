"""EnvPool's pools: they reset ended envs in the next step, but take resets of chosen envs at any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.adapters.external.agents import VectorMasks, single_group
from warpworld.adapters.external.calls import Calling, NoStates, Observations, Outcome
from warpworld.adapters.external.forms import ObservationForm
from warpworld.adapters.external.results import RESET, Place, ids_of, results, step_of
from warpworld.adapters.external.vector_envs import AGENT, of_agent
from warpworld.environment import Group


class PoolEnvs(NoStates):
    """A pool of envs with one agent each, which steps all of them at once.

    Args:
        pool: made with ``env_type="gymnasium"``; its seeds are settled then.
        num_envs: envs in it.
        where: library and environment, for messages.
    """

    stateless = "EnvPool gives no states of its envs"

    def __init__(self, pool: Any, num_envs: int, where: str = "external: envpool") -> None:
        self._pool, self._num_envs, self._where = pool, num_envs, where
        self._form = ObservationForm(pool.observation_space, pool.action_space, where, AGENT)
        self.requested: tuple[str, ...] = ()
        self._masks = VectorMasks(self._form, self._form.action, num_envs, where)
        self._now: dict[str, np.ndarray] = {}

    @property
    def groups(self) -> tuple[Group, ...]:
        """One group of one agent."""
        return (single_group(AGENT, 1, self._form, self._masks.action),)

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks for the observations that were handed out last."""
        return self._masks.last

    def reset(self, seed: int) -> Observations:
        """Begin the first episodes; the seeds were given when the pool was made."""
        with Calling(self._where, "reset"):
            given = self._pool.reset()
        observations, infos = results(given, RESET, f"{self._where}: reset()")
        self._now = self._parts(observations, "reset()", np.arange(self._num_envs))
        self._masks.begin(observations, infos)
        if self._masks.there_are:
            self.requested = ("action_mask",)
        return of_agent(self._now)

    def _parts(self, observations: Any, call: str, envs: np.ndarray) -> dict[str, np.ndarray]:
        return self._form.parts(observations, Place(self._where, call=call, envs=envs))

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env."""
        native = self._masks.action.native(actions[AGENT][:, 0])
        with Calling(self._where, "step", action=native):
            given = self._pool.step(native)
        observations, rewards, terminated, truncated, infos = step_of(given, self._num_envs, self._where)
        self._now = self._parts(observations, "step()", np.arange(self._num_envs))
        self._masks.step(observations, infos)
        return Outcome(of_agent(self._now), rewards, terminated, truncated)

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes; an env that is reset here is not reset by its next step."""
        chosen = np.flatnonzero(envs).astype(np.int32)
        with Calling(self._where, "reset", action=chosen):
            given = self._pool.reset(chosen)
        observations, infos = results(given, RESET, f"{self._where}: reset()")
        begun = ids_of(infos, chosen, f"{self._where}: reset()")
        first = self._parts(observations, "reset()", begun)
        self._now = {key: np.array(part) for key, part in self._now.items()}
        for key, part in first.items():
            self._now[key][begun] = part
        self._masks.begin_some(begun, observations, infos)
        return of_agent(self._now)

    def close(self) -> None:
        """Let go of the pool, which ends with its last reference."""
        self._pool = None
