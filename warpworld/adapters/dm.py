"""A World as a ``dm_env.Environment``."""

from __future__ import annotations

from typing import Any

import dm_env
import numpy as np
from dm_env import specs
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from warpworld.adapters.rules import PROTOCOLS, Copied
from warpworld.adapters.single import first
from warpworld.adapters.vector import VectorEnv
from warpworld.adapters.views import as_batch, names_of_lives
from warpworld.errors import DeclarationError
from warpworld.world import Seed, World

_FIRST, _MID, _LAST = (np.int32(kind) for kind in (dm_env.StepType.FIRST, dm_env.StepType.MID, dm_env.StepType.LAST))


class DmEnv(Copied, dm_env.Environment):
    """Envs whose steps are first, mid or last; the step behind a last one ignores its action and is a first one.

    A discount is 0 where an episode ended by itself, and 1 where a limit cut it. Of one env, a time step holds what
    dm_env specifies. Of several, each of its parts has an axis of envs in front, as EnvPool's have: ``step_type``
    (num_envs,) int32, ``reward`` and ``discount`` (num_envs,) float32, 0 and 1 in first steps. Specs are of one env.

    Attributes:
        world: what is stepped.
        agent_mask: which agents took part in the last step, (num_envs, agents) bool, of one env (agents,); None where
            the environment does not have it.
        agent_terminated: whose part of the episode ended in it by itself, likewise.
        agent_truncated: whose part was cut in it, likewise.

    Args:
        world: with ``autoreset="next_step"``. Several agents of an env are an axis.

    Raises:
        DeclarationError: the world resets in another way; its groups differ in their spaces.
    """

    def __init__(self, world: World) -> None:
        PROTOCOLS["dm"].check(world)
        self.world = world
        self._batch = VectorEnv(world, agents="auto" if world.num_agents == 1 else "axis")
        self.agent_mask: np.ndarray | None = None
        self.agent_terminated: np.ndarray | None = None
        self.agent_truncated: np.ndarray | None = None
        self._over: np.ndarray | None = None  # whose last step was their last; None before the first reset

    def reset(self, seed: Seed | None = None) -> dm_env.TimeStep:
        """Start new episodes everywhere; ``seed`` is one number, or one for each env, see VectorEnv."""
        observations, infos = self._batch.reset(seed=seed)
        self._note_lives(infos)
        self._over = np.zeros(self.world.num_envs, np.bool_)
        ones = np.ones(self.world.num_envs, np.float32)
        return self._time_step(np.full(self.world.num_envs, _FIRST), 0 * ones, ones, observations)

    def step(self, action: Any) -> dm_env.TimeStep:
        """Make one step; before any reset this is a reset.

        Raises:
            StoreError: an action is illegal; after ``close``.
        """
        if self._over is None:
            return self.reset()
        actions = as_batch(action, self._batch.single_action_space) if self.world.num_envs == 1 else action
        observations, rewards, terminated, truncated, infos = self._batch.step(actions)
        self._note_lives(infos)
        over = terminated | truncated
        kinds = np.where(self._over, _FIRST, np.where(over, _LAST, _MID))
        self._over = over
        return self._time_step(kinds, rewards, 1 - terminated.astype(np.float32), observations)

    def _note_lives(self, infos: dict[str, Any]) -> None:
        for name in names_of_lives(self.world):
            setattr(self, name, infos[name] if self.world.num_envs > 1 else infos[name][0])

    def _time_step(self, kinds: np.ndarray, rewards: np.ndarray, discounts: np.ndarray, seen: Any) -> dm_env.TimeStep:
        if self.world.num_envs > 1:
            return dm_env.TimeStep(kinds, rewards, discounts, seen)
        if kinds[0] == _FIRST:
            return dm_env.restart(first(seen))
        return dm_env.TimeStep(dm_env.StepType(kinds[0]), float(rewards[0]), float(discounts[0]), first(seen))

    def observation_spec(self) -> Any:
        """Spec of one env's observation: one spec, or one for each key."""
        return spec_of(self._batch.single_observation_space, "observation")

    def action_spec(self) -> Any:
        """Spec of one env's action: one spec, or a dict or tuple of those of its parts."""
        return spec_of(self._batch.single_action_space, "action")

    def close(self) -> None:
        """Close the world."""
        self._batch.close()


def spec_of(space: Space, name: str) -> Any:
    """A space as dm_env's specs.

    Raises:
        DeclarationError: dm_env has no such spec.
    """
    if isinstance(space, Dict):
        return {key: spec_of(part, key) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(spec_of(part, f"{name}_{number}") for number, part in enumerate(space.spaces))
    if isinstance(space, Discrete) and space.start == 0:
        return specs.DiscreteArray(int(space.n), np.int64, name)
    low, high = _bounds(space)
    if not (np.isfinite(low).any() or np.isfinite(high).any()):
        return specs.Array(space.shape, space.dtype, name)
    return specs.BoundedArray(space.shape, space.dtype, low, high, name)


def _bounds(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest value of each entry."""
    if isinstance(space, Box):
        return space.low, space.high
    if isinstance(space, Discrete):
        return np.asarray(space.start), np.asarray(space.start + space.n - 1)
    if isinstance(space, MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    if isinstance(space, MultiBinary):
        return np.zeros(space.shape, np.int8), np.ones(space.shape, np.int8)
    raise DeclarationError(f"dm_env has no spec for {space}")
