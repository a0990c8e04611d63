"""A World of one env for code that is written for the old gym package, of 0.26 or of 0.21."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from warpworld.adapters.rules import PROTOCOLS, Copied
from warpworld.adapters.single import Env
from warpworld.errors import DeclarationError
from warpworld.world import World

gym: Any = importlib.import_module("gym") if importlib.util.find_spec("gym") else None
_Base: Any = object if gym is None else gym.Env


class _OldGym(Copied, _Base):
    """Base class of both versions.

    It is a ``gym.Env`` with gym's spaces where gym is installed; else its spaces are Gymnasium's.

    Attributes:
        world: what is stepped.

    Args:
        world: of one env, with ``autoreset="disabled"``.
        render_mode: "rgb_array" for ``render``.

    Raises:
        DeclarationError: the world is of several envs or resets them by itself; its groups differ in their spaces;
            gym has no such space.
    """

    protocol: str

    def __init__(self, world: World, *, render_mode: str | None = None) -> None:
        PROTOCOLS[self.protocol].check(world)
        self.world, self.render_mode = world, render_mode
        self._env = Env(world, render_mode=render_mode)
        self.metadata, self.reward_range = self._env.metadata, (-float("inf"), float("inf"))
        self.observation_space = as_gym(self._env.observation_space)
        self.action_space = as_gym(self._env.action_space)

    def close(self) -> None:
        """Close the world."""
        self._env.close()


class Gym26(_OldGym):
    """Env in the form of gym 0.26: steps return (observation, reward, terminated, truncated, infos)."""

    protocol = "gym"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode: observation and infos; see Env."""
        found = self._env.reset(seed=seed, options=options)
        if gym is not None:
            super().reset(seed=seed)
        return found

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make one step, as ``Env.step``."""
        return self._env.step(action)

    def render(self) -> np.ndarray:
        """A picture (height, width, 3) uint8 of the env as it stands."""
        return self._env.render()


class Gym21(_OldGym):
    """Env in the form of gym before 0.26: steps return (observation, reward, done, infos), ``reset`` an observation.

    The infos of a last step hold "TimeLimit.truncated": whether a limit cut the episode. ``seed`` is of the next reset.
    """

    protocol = "gym21"

    def __init__(self, world: World) -> None:
        super().__init__(world, render_mode="rgb_array")
        self._seed: int | None = None

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Say which random numbers the next reset begins with."""
        self._seed = seed
        return [seed]

    def reset(self) -> Any:
        """Start a new episode: its first observation."""
        seed, self._seed = self._seed, None
        return self._env.reset(seed=seed)[0]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Make one step: observation, reward, done and infos; arguments and errors as ``Env.step``."""
        observation, reward, terminated, truncated, infos = self._env.step(action)
        if terminated or truncated:
            infos["TimeLimit.truncated"] = truncated and not terminated
        return observation, reward, terminated or truncated, infos

    def render(self, mode: str = "rgb_array") -> np.ndarray:
        """A picture (height, width, 3) uint8 of the env as it stands."""
        if mode != "rgb_array":
            raise DeclarationError(f"render(): mode={mode!r}, expected 'rgb_array'")
        return self._env.render()


def as_gym(space: Space) -> Any:
    """A space as gym's, where gym is installed.

    Raises:
        DeclarationError: gym has no such space.
    """
    if gym is None:
        return space
    if isinstance(space, Dict):
        return gym.spaces.Dict({key: as_gym(part) for key, part in space.spaces.items()})
    if isinstance(space, Tuple):
        return gym.spaces.Tuple([as_gym(part) for part in space.spaces])
    if isinstance(space, Box):
        return gym.spaces.Box(space.low, space.high, space.shape, space.dtype.type)
    if isinstance(space, Discrete):
        return gym.spaces.Discrete(int(space.n), start=int(space.start))
    if isinstance(space, MultiDiscrete) and not space.start.any():
        return gym.spaces.MultiDiscrete(space.nvec)
    if isinstance(space, MultiBinary):
        return gym.spaces.MultiBinary(space.n)
    raise DeclarationError(f"gym has no space for {space}")
